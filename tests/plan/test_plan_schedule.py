"""The order of sending: whole blocks, shuffled; notations by Latin squares."""

from collections import Counter
from itertools import groupby

import pytest

from bench.data.java_random import JavaRandom
from bench.data.seeds import child_seed
from bench.data.terms import SYNTAXES
from bench.plan.config import load_preset
from bench.plan.draft import draft_plan
from bench.plan.schedule import Scheduler, latin_square

PILOT = load_preset("pilot")
CASES = draft_plan(PILOT, "p1").cases
BLOCKS = Scheduler("pilot", 20261005, SYNTAXES, 1).blocks(CASES)


@pytest.mark.parametrize("index", range(20))
def test_a_square_has_every_notation_once_in_each_row_and_column(index):
    """For any seed."""
    square = latin_square(SYNTAXES, JavaRandom(child_seed(1, "squares", index)))
    lines = [*square, *zip(*square, strict=True)]
    assert [sorted(SYNTAXES)] * 10 == [sorted(line) for line in lines]


def test_squares_are_drawn():
    """Twenty seeds give twenty different ones."""
    squares = {tuple(latin_square(SYNTAXES, JavaRandom(child_seed(1, "squares", index)))) for index in range(20)}
    assert 20 == len(squares)


def test_every_case_is_a_block_and_the_order_is_not_that_of_the_cases():
    """Each once, shuffled."""
    planned = [case.case_id for case, _ in CASES]
    sent = [block.case.case_id for block in BLOCKS]
    assert sorted(planned) == sorted(sent)
    assert planned != sent


def test_each_notation_stands_in_each_place_equally_often_in_every_task_and_cell():
    """Counts differ by at most 1."""
    places: dict[tuple, Counter] = {}
    for block in BLOCKS:
        counter = places.setdefault((block.case.task, block.family.depth, block.family.filler), Counter())
        counter.update((syntax, place) for place, syntax in enumerate(block.order))
    for counter in places.values():
        counts = [counter[syntax, place] for syntax in SYNTAXES for place in range(5)]
        assert max(counts) - min(counts) <= 1


def test_blocks_take_the_rows_of_their_square_cyclically():
    """In the order seed index, regime, view within a task and cell."""
    orders = {block.case.case_id: block.order for block in BLOCKS}

    def cell(entry):
        return (entry[0].task, entry[1].depth, entry[1].filler)

    for _, group in groupby(sorted(CASES, key=cell), key=cell):
        rows = [orders[case.case_id] for case, _ in group]
        assert 5 == len(set(rows[:5]))
        assert all(rows[turn] == rows[turn - 5] for turn in range(5, len(rows)))


def test_replicates_are_blocks_of_their_own():
    """Two of each case, numbered, in other orders."""
    blocks = Scheduler("pilot", 20261005, SYNTAXES, 2).blocks(CASES)
    assert {0, 1} == {block.replicate for block in blocks}
    assert 2 * len(CASES) == len({(block.case.case_id, block.replicate) for block in blocks})


def test_the_seed_decides_the_order():
    """The same again, and another for another seed or preset."""
    order = [block.case.case_id for block in BLOCKS]
    assert order == [block.case.case_id for block in Scheduler("pilot", 20261005, SYNTAXES, 1).blocks(CASES)]
    assert order != [block.case.case_id for block in Scheduler("pilot", 1, SYNTAXES, 1).blocks(CASES)]
    assert order != [block.case.case_id for block in Scheduler("other", 20261005, SYNTAXES, 1).blocks(CASES)]
