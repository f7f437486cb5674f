"""Programs as JSON values: the form, its round trip, and every value that is no program."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.lang.ast import Kind, Let, Program, Scope
from bench.lang.errors import TreeError
from bench.lang.names import MAX_DEPTH
from bench.lang.tree import program_from_json, program_to_json
from tests.lang.example_programs import SPEC_PROGRAM
from tests.strategies import programs

SPEC_TREE = [
    ["let", "x_a", 1048],
    [
        "unit",
        "n_qazwsxed",
        [
            ["let", "x_a", 7321],
            [
                "func",
                "n_plmoknij",
                [["let", "x_a", 5916], ["area", "n_uhbygvtf", [["let", "x_a", 8604], ["nop", "p_abcdefgh"]]]],
            ],
        ],
    ],
]


def nested(depth: int) -> list:
    """A value with ``depth`` blocks inside each other, built without recursion."""
    value: list = []
    for _ in range(depth):
        value = [["unit", "n_aaaaaaaa", value]]
    return value


def test_the_form_of_the_specification_example():
    """Statements are lists: let with variable and number, nop with payload, kind with name and body."""
    assert SPEC_TREE == program_to_json(SPEC_PROGRAM)
    assert SPEC_PROGRAM == program_from_json(SPEC_TREE)


@given(program=programs())
@settings(deadline=None)
def test_reading_undoes_writing(program):
    """Through real JSON text the same program comes back."""
    assert program == program_from_json(json.loads(json.dumps(program_to_json(program))))


def test_order_of_statements_is_kept():
    """Two programs that differ only in order differ as trees."""
    one, two = Let("x_a", 1000), Let("x_b", 2000)
    assert Program((two, one)) == program_from_json(program_to_json(Program((two, one))))
    assert program_to_json(Program((one, two))) != program_to_json(Program((two, one)))


def test_depth_32_stays_inside_the_limits_of_json():
    """The deepest grid takes 65 of the strict decoder's 128 levels."""
    text = json.dumps(program_to_json(program_from_json(nested(32))))
    depth = max(text[: i + 1].count("[") - text[: i + 1].count("]") for i in range(len(text)))
    assert 65 == depth


def test_the_deepest_accepted_tree():
    """MAX_DEPTH blocks are read, one more is refused, like in the parser."""
    program_from_json(nested(MAX_DEPTH))
    with pytest.raises(TreeError, match="inside each other"):
        program_from_json(nested(MAX_DEPTH + 1))


def test_ten_thousand_levels_are_refused_not_a_crash():
    """Reading keeps its own stack."""
    with pytest.raises(TreeError):
        program_from_json(nested(10_000))


@pytest.mark.parametrize(
    "value",
    [
        None,
        "let",
        {},
        [None],
        [[]],
        [["let", "x_a"]],
        [["let", "x_a", "1048"]],
        [["let", "x_a", True]],
        [["let", "x_a", 1048.0]],
        [["let", "x_a", 999]],
        [["let", "x_a", 10_000]],
        [["let", "x_g", 1048]],
        [["let", "x_a", 1048, 1]],
        [["nop", "p_abc"]],
        [["nop", None]],
        [["unit", "n_qazwsxed"]],
        [["unit", "n_QAZWSXED", []]],
        [["unit", "n_qazwsxed", {}]],
        [["block", "n_qazwsxed", []]],
        [["unit", "n_qazwsxed", [["let"]]]],
    ],
)
def test_a_value_of_another_form_is_refused(value):
    """Nothing is coerced: not true for 1, not a string for a number, not an object for a list."""
    with pytest.raises(TreeError):
        program_from_json(value)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=10)
    | st.sampled_from(["let", "unit", "n_aaaaaaaa"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=12,
)


@given(value=JSON_VALUES)
@settings(deadline=None)
def test_any_json_value_gives_a_program_or_a_tree_error(value):
    """Fuzzed values raise nothing else."""
    try:
        program = program_from_json(value)
    except TreeError as error:
        message = str(error)
    else:
        message = ""
        assert value == program_to_json(program)
    assert len(message) < 200


def test_reading_leaves_the_value_untouched():
    """The caller's lists are not consumed."""
    value = [["unit", "n_aaaaaaaa", [["nop", "p_aaaaaaaa"]]]]
    before = json.dumps(value)
    assert Scope(Kind.UNIT, "n_aaaaaaaa", program_from_json(value).body[0].body) == program_from_json(value).body[0]
    assert before == json.dumps(value)
