"""The shared values: the error tree is drawn as it is, and impossible requests cannot be built."""

import re
from dataclasses import fields
from typing import get_args

import pytest

from bench.llm import model
from bench.llm.model import LlmError, LlmResult, TextMessage, TokenUsage


def drawn_tree() -> dict[str, str]:
    """Name -> parent, from the box drawing in the module's docstring."""
    parents, path = {}, []
    for line in model.__doc__.splitlines():
        if match := re.fullmatch(r"    ([│ ├└─]*)(\w+)( .*)?", line):
            depth = len(match[1]) // 4
            path[depth:] = [match[2]]
            parents[match[2]] = path[depth - 1] if depth else ""
    return parents


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes():
    """Every outcome is drawn under the union it belongs to, and nothing else is."""
    errors = {kind.__name__: "LlmError" for kind in get_args(LlmError)}
    answers = {kind.__name__: "LlmResult" for kind in set(get_args(LlmResult)) - set(get_args(LlmError))}
    assert drawn_tree() == {"LlmResult": "", "LlmError": "LlmResult", **answers, **errors}


def test_no_outcome_shows_its_raw_body():
    """A body may hold a whole prompt; a repr in a log or traceback must not."""
    for kind in [*get_args(LlmResult), model.RawResponse]:
        assert [f.repr for f in fields(kind) if f.name in ("raw_body", "body")] in ([], [False])


def test_a_role_outside_the_four_is_refused():
    """8.2: user, assistant, developer, system and nothing else."""
    with pytest.raises(ValueError, match="role 'tool'"):
        TextMessage("tool", "text")


@pytest.mark.parametrize(("counts", "billed"), [((10, 5, 15), 15), ((10, 5, 12), 15), ((10, 5, 20), 20)])
def test_contradictory_usage_is_booked_at_its_dearest_reading(counts, billed):
    """A cap must hold even if the server's sum is wrong."""
    assert TokenUsage(*counts).billed_tokens == billed
