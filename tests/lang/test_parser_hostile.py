"""Whatever a model writes, the parser answers with a value or one short ParseError."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.lang.ast import Kind, Program
from bench.lang.errors import ParseCode, ParseError
from bench.lang.lexicon import NATURAL
from bench.lang.parse import parse_prefix, parse_program
from bench.lang.render import render_program
from bench.lang.syntax import NOTATIONS, RenderSpec
from tests.strategies import programs, render_specs

MIB = 1 << 20
SPEC = RenderSpec(NOTATIONS["named_end"], NATURAL)


def outcome(text: str, spec: RenderSpec) -> list[str]:
    """What both modes make of ``text``: ``accepted`` or the error code; anything else propagates."""
    codes = []
    for parse in (parse_program, parse_prefix):
        error = error_of(parse, text, spec)
        if error is None:
            codes.append("accepted")
        else:
            assert len(str(error)) < 250
            assert error.line >= 1
            assert error.column >= 1
            codes.append(error.code.value)
    return codes


def error_of(parse: Callable[[str, RenderSpec], object], text: str, spec: RenderSpec) -> ParseError | None:
    """The parse error, if there is one."""
    try:
        parse(text, spec)
    except ParseError as error:
        return error
    return None


def words() -> st.SearchStrategy[str]:
    """Words of the language, near misses and rubbish."""
    known = [
        *NATURAL.words,
        "probe",
        "{",
        "}",
        "junk",
        "z_aaaaaaaa",
        "n_aaaaaaaa",
        "x_a",
        "p_aaaaaaaa",
        "q_aaaaaaaa",
        "1000",
    ]
    return st.sampled_from(known) | st.text(max_size=6)


def near_texts() -> st.SearchStrategy[str]:
    """Lines of such words between legal and illegal separators."""
    separators = st.sampled_from([" ", " ", " ", "\n", "\n", "\t", "  ", "\r\n", "\r", "\x0b", "\u2028", "\x00"])
    return st.lists(st.tuples(words(), separators), max_size=30).map(lambda pairs: "".join(a + b for a, b in pairs))


@given(text=st.text() | near_texts(), spec=render_specs())
@settings(max_examples=400, deadline=None)
def test_any_text_gives_a_value_or_a_parse_error(text, spec):
    """Fuzzed text never raises anything but ParseError, with a short message and a position."""
    outcome(text, spec)


@given(program=programs(), spec=render_specs(), data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_damaged_program_gives_a_value_or_a_parse_error(program, spec, data):
    """One character replaced, removed or put in, anywhere in a real program."""
    text = render_program(program, spec)
    at = data.draw(st.integers(0, len(text)))
    removed = data.draw(st.integers(0, 2))
    outcome(text[:at] + data.draw(st.text(max_size=2)) + text[at + removed :], spec)


@pytest.mark.parametrize("kind", [kind.value for kind in Kind])
def test_ten_thousand_open_blocks_are_refused_not_a_crash(kind):
    """Depth is counted, never recursed into."""
    letters = "abcdefghij"
    names = ("n_" + "".join(letters[int(digit)] for digit in f"{number:08d}") for number in range(10_000))
    text = "\n".join(f"{kind} {name}" for name in names)
    assert ["too_deep", "too_deep"] == outcome(text, SPEC)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a" * MIB, "unknown_statement"),
        (" " * MIB, None),
        ("\n" * MIB, None),
        ("let" + " " * MIB + "x_a 1000", "bad_separator"),
        ("let " * (MIB // 4), "malformed_statement"),
        ("let x_a " + "1" * MIB, "bad_value"),
        ("unit n_" + "a" * MIB, "bad_block_name"),
        ("end " + "z" * MIB, "malformed_close"),
        ("\t" * MIB + "x", "unknown_statement"),
        ("{" * MIB, "unknown_statement"),
        ("\ud800" * 1000, "unknown_statement"),
        ("let x_a \ud800", "bad_value"),
        ("nop p_aaaaaaaa\n" * 60_000 + "x", "unknown_statement"),
    ],
)
def test_a_line_of_a_mebibyte_is_judged_like_any_other(text, code):
    """No pattern backtracks and no message quotes more than a few characters."""
    expected = ["accepted", "missing_probe"] if code is None else [code, code]
    assert expected == outcome(text, SPEC)


def test_a_long_legal_program_is_accepted():
    """Size alone is no error: sixty thousand statements parse."""
    assert 60_000 == len(parse_program("nop p_aaaaaaaa\n" * 60_000, SPEC).body)


def test_messages_quote_no_raw_characters():
    """A control character or a lone surrogate shows as an escape, so any message can be logged."""
    with pytest.raises(ParseError) as caught:
        parse_program("\x1b[31m\ud800\n", SPEC)
    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()
    assert ParseCode.UNKNOWN_STATEMENT == caught.value.code


def test_every_code_is_documented_by_its_own_name():
    """A stored code is the lower-case name: stable in files, readable in tables."""
    assert [code.name.lower() for code in ParseCode] == [code.value for code in ParseCode]


def test_an_empty_program_has_no_statements():
    """Only blank lines: the empty program."""
    assert Program(()) == parse_program("\r\n \t\n", SPEC)
