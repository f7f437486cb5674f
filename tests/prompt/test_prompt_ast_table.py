"""The neutral table: every program survives it, and nothing in it tells the order of the program."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.data.java_random import JavaRandom
from bench.data.seeds import child_seed
from bench.lang.ast import Kind, Let, Nop, Program, Scope
from bench.prompt.ast_table import COLUMNS, TableError, parse_table, render_table
from tests.strategies import programs

SEEDS = st.integers(0, 1 << 40)
PROGRAM = Program(
    (
        Let("x_a", 1048),
        Scope(Kind.UNIT, "n_qazwsxed", (Let("x_a", 7321), Nop("p_abcdefgh"), Scope(Kind.AREA, "n_uhbygvtf", ()))),
    )
)


@given(programs(), SEEDS)
def test_every_program_comes_back_from_its_table(program, seed):
    """Whatever the order of siblings and the ids of nodes."""
    assert program == parse_table(render_table(program, JavaRandom(seed)))


@given(programs(), SEEDS, SEEDS)
def test_other_node_ids_and_another_order_of_rows_are_the_same_program(program, one, other):
    """The column ``order`` alone decides."""
    assert parse_table(render_table(program, JavaRandom(one))) == parse_table(render_table(program, JavaRandom(other)))


def test_the_table_of_a_small_program(golden):
    """Root first, parents above their children, one row for each node."""
    golden("prompt/ast_table.txt", render_table(PROGRAM, JavaRandom(3)))


def test_ids_and_rows_follow_no_order_of_the_program():
    """Over 200 drawings the first child stands first about half of the time, and ids rise about half of the time."""
    seeds = [
        child_seed(1, "tables", index) for index in range(200)
    ]  # neighbouring seeds draw alike in java.util.Random
    tables = [render_table(PROGRAM, JavaRandom(seed)).splitlines() for seed in seeds]
    first = sum(table[2].split()[2] == "0" for table in tables)
    rising = sum(table[2].split()[0] < table[3].split()[0] for table in tables)
    assert 70 < first < 130
    assert 70 < rising < 130


TABLE = "  ".join(COLUMNS) + "\nr - 0 ROOT - - - - -\na10 r 0 LET - - x_a 1048 -\n"


def test_rows_may_be_spaced_as_they_like():
    """Columns are words."""
    assert Program((Let("x_a", 1048),)) == parse_table(TABLE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the columns"),
        (TABLE.replace("payload", "content"), "expected the columns"),
        (TABLE.replace(" 1048 -", " 1048"), "expected the columns"),
        (TABLE.replace("a10 r 0", "a10 b11 0"), "stands before its parent"),
        (TABLE.replace("a10 r 0", "a10 r 1"), "not numbered"),
        (TABLE.replace("LET", "PUT"), "unknown tag"),
        (TABLE.replace("r - 0", "s - 0").replace("a10 r", "a10 s"), "no root"),
        (TABLE + "a10 r 1 LET - - x_b 1049 -\n", "stands twice"),
    ],
)
def test_a_text_that_is_no_table_is_refused(text, message):
    """The first defect, by name."""
    with pytest.raises(TableError, match=message):
        parse_table(text)
