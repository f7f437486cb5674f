"""The example banks: 8 sets of 8, the same for every preset, no structure twice."""

import pytest

from bench.data.structure import EXAMPLE_CLASS, skeleton_class
from bench.data.terms import TASKS
from bench.prompt.examples import example_bank


@pytest.fixture(params=TASKS)
def bank(request):
    return example_bank(request.param)


def test_eight_sets_of_eight_with_distinct_skeletons_of_the_banks_class(bank):
    """Class 0, which no test may have."""
    examples = [example for examples in bank for example in examples]
    assert [8] * 8 == [len(examples) for examples in bank]
    assert 64 == len({example.family.skeleton for example in examples})
    assert {EXAMPLE_CLASS} == {skeleton_class(example.family.skeleton) for example in examples}


def test_examples_are_small(bank):
    """Depths 2 to 4 and fillers 0 to 8, and each of them occurs somewhere."""
    families = [example.family for examples in bank for example in examples]
    assert {2, 3, 4} == {family.depth for family in families}
    assert {0, 8} == {min(family.filler for family in families), max(family.filler for family in families)}


def test_slots_of_even_index_are_inner_and_odd_ones_outer(bank):
    """As the families of a cell."""
    kinds = [[example.family.lookup_kind for example in examples] for examples in bank]
    assert [["inner", "outer"] * 4] * 8 == kinds


@pytest.mark.parametrize("task", ["scope_lookup", "active_stack"])
def test_four_examples_of_each_view_in_a_drawn_order(task):
    """And not the same order in every set."""
    views = [[example.view for example in examples] for examples in example_bank(task)]
    assert {(4, 4)} == {(row.count("before_close"), row.count("after_close")) for row in views}
    assert len({tuple(row) for row in views}) > 1


def test_the_writing_task_shows_whole_programs():
    """All 64 of them."""
    assert {"program"} == {example.view for examples in example_bank("ast_to_source") for example in examples}
