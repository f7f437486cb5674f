"""The language of -m and -k: the same truth as pytest's own reading of it."""

import pytest
from _pytest.mark.expression import Expression as PytestExpression
from hypothesis import given
from hypothesis import strategies as st

from bench.plugin.expression import ExpressionError, asserted, holds, parse, words

NAMES = ("smoke", "p0", "depth_8", "named_end", "nor", "android")


def texts() -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(NAMES),
        lambda inner: st.one_of(
            inner.map(lambda text: f"not {text}"),
            inner.map(lambda text: f"({text})"),
            st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join),
        ),
        max_leaves=8,
    )


@given(texts(), st.sets(st.sampled_from(NAMES)))
def test_agrees_with_pytest(text: str, true: set[str]) -> None:
    """For any expression and any truth of its names, the value is pytest's."""
    expected = PytestExpression.compile(text).evaluate(lambda name: name in true)
    assert expected == holds(parse(text), true.__contains__)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("smoke and p0", {"smoke", "p0"}),
        ("smoke and not p0", {"smoke"}),
        ("not (smoke or p0)", set()),
        ("not (smoke and not p0)", {"p0"}),
        ("not not smoke", {"smoke"}),
    ],
)
def test_words_that_stand_unnegated(text: str, expected: set[str]) -> None:
    """Only a preset word under an even number of `not` selects a plan."""
    assert expected == asserted(parse(text))


def test_every_word_counts_for_spelling() -> None:
    """Negated words are words too: `not typo` is a typo."""
    assert {"smoke", "typo"} == words(parse("smoke and not typo"))


@pytest.mark.parametrize(
    "text", ["smoke and", "(smoke", "smoke)", "and smoke", "smoke smoke", "", "not", "a & b", "()"]
)
def test_refuses_what_is_no_expression(text: str) -> None:
    """A mistake is told, with its place, before anything is planned."""
    with pytest.raises(ExpressionError):
        parse(text)
