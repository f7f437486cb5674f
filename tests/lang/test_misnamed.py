"""The notation of the manipulation check: well nested, rightly kinded, and every closing name wrong."""

import pytest

from bench.lang.ast import Kind, Let, Program, Scope
from bench.lang.errors import ParseCode, ParseError
from bench.lang.lexicon import NATURAL, nonce
from bench.lang.parse import parse_program
from bench.lang.prose import describe_syntax
from bench.lang.render import render_program
from bench.lang.syntax import ALL_NOTATIONS, CHECKS, MISNAMED, NOTATIONS, RenderSpec

PROGRAM = Program(
    (Scope(Kind.UNIT, "n_outerxyz", (Let("x_a", 1048), Scope(Kind.FUNC, "n_innerxyz", (Let("x_a", 5916),)))),)
)
SPEC = RenderSpec(MISNAMED, NATURAL, aliases={"n_outerxyz": "n_aliasone", "n_innerxyz": "n_aliastwo"})
TEXT = """unit n_outerxyz
let x_a 1048
func n_innerxyz
let x_a 5916
end func n_aliastwo
end unit n_aliasone
"""


def test_it_is_none_of_the_five():
    """Whoever goes through the notations that are compared does not meet it."""
    assert (5, 6) == (len(NOTATIONS), len(ALL_NOTATIONS))
    assert set(ALL_NOTATIONS) - set(NOTATIONS) == set(CHECKS) == {"misnamed_end"}


def test_it_is_written_and_read_back():
    """To the byte, and to the same program as in any other notation."""
    assert TEXT == render_program(PROGRAM, SPEC)
    assert PROGRAM == parse_program(TEXT, SPEC)


@pytest.mark.parametrize("name", ["n_innerxyz", "n_outerxyz", "n_aliasone"])
def test_only_the_blocks_own_wrong_name_closes_it(name):
    """Its right name, another block's, another's wrong one: all are the wrong word here."""
    with pytest.raises(ParseError) as raised:
        parse_program(TEXT.replace("n_aliastwo", name), SPEC)
    assert (ParseCode.CLOSE_NAME_MISMATCH, 5) == (raised.value.code, raised.value.line)


def test_lines_are_as_long_as_with_right_names():
    """Characters cannot be what tells the two apart."""
    named = render_program(PROGRAM, RenderSpec(NOTATIONS["named_end"], NATURAL))
    assert [len(line) for line in named.split("\n")] == [len(line) for line in TEXT.split("\n")]


@pytest.mark.parametrize("lexicon", [NATURAL, nonce(2)])
def test_its_description_is_true_and_names_no_condition(lexicon):
    """It says that the other name belongs to no block, and what it shares with named_end it says in the same words."""
    lines = describe_syntax(RenderSpec(MISNAMED, lexicon))
    named = describe_syntax(RenderSpec(NOTATIONS["named_end"], lexicon))
    assert f"Closing line of the innermost open block: {lexicon.end} KIND OTHER" in lines
    assert 2 == sum(mine != theirs for mine, theirs in zip(lines, named, strict=True))
    assert any("OTHER is a name that no block has" in line for line in lines)
    assert not any(word in "\n".join(lines).lower() for word in ("wrong", "misnamed", "alias", "check"))
