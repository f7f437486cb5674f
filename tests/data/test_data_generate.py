"""Drawing families: repeatable, unique, of one class, filled as designed."""

import re

import pytest

from bench.data.dataset import Cells, draw_families
from bench.data.family import family_from_json, family_to_json
from bench.data.generate import MAX_ATTEMPTS, GenerationError, Generator, Slot
from bench.data.seeds import child_seed
from bench.data.structure import skeleton_class
from bench.lang.ast import Let, Nop
from bench.lang.events import Close, Open
from bench.lang.reference_oracle import observe
from bench.lang.walk import events_of

CELLS = Cells("pilot", "reading", [2, 4, 8], [0, 3], 4)
FAMILIES = [family for family, _ in draw_families(CELLS, 20261005)]


def slot(depth=4, filler=2, index=1):
    return Slot(
        f"t-{depth}-{filler}-{index}", "reading", "t", f"reading/{depth}-{filler}-{index}", depth, filler, index
    )


@pytest.fixture(params=FAMILIES, ids=lambda family: family.family_id)
def family(request):
    return request.param


def test_the_same_seed_draws_the_same_families_and_another_seed_none_of_them():
    """Byte for byte, as they are written."""
    again = [family for family, _ in draw_families(CELLS, 20261005)]
    assert [family_to_json(family) for family in FAMILIES] == [family_to_json(family) for family in again]
    others = [family.program for family, _ in draw_families(CELLS, 20261006)]
    assert not any(family.program in others for family in FAMILIES)


def test_no_two_families_share_a_skeleton_and_all_are_of_the_presets_class():
    """Across all cells of the task group."""
    assert len(FAMILIES) == len({family.skeleton for family in FAMILIES})
    assert {1} == {skeleton_class(family.skeleton) for family in FAMILIES}


def test_seeds_name_preset_purpose_task_group_and_cell_and_the_index_is_the_draw(family):
    """``pilot/structure/reading/8-3-2`` and so on, with the number of the draw that was kept."""
    cell = f"{family.depth}-{family.filler}-{family.seed_index}"
    expected = {
        purpose: child_seed(20261005, f"pilot/{purpose}/reading/{cell}", family.attempt)
        for purpose in ("structure", "identifier", "value", "filler")
    }
    assert expected == family.seeds


def test_words_are_of_the_described_form_and_unique(family):
    """Names of eight letters, distinct four-digit values, one probed variable of six."""
    events = events_of(family.program)
    names = [event.name for event in events if isinstance(event, Open)]
    nops = [event.payload for event in events if isinstance(event, Nop)]
    values = [event.value for event in events if isinstance(event, Let)]
    assert all(re.fullmatch("n_[a-z]{8}", name) for name in names)
    assert all(re.fullmatch("p_[a-z]{8}", name) for name in nops)
    assert re.fullmatch("q_[a-z]{8}", family.after_cut.probe_id)
    assert all(1000 <= value <= 9999 for value in values)
    assert (len(names), len(values)) == (len(set(names)), len(set(values)))


def test_nops_fill_the_deepest_scope_up_to_the_before_cut_and_only_closes_follow(family):
    """``filler`` nops directly before the cut, then c closes, then the rest."""
    events = events_of(family.program)
    before = family.before_cut.event_count
    assert [True] * family.filler == [isinstance(event, Nop) for event in events[before - family.filler : before]]
    assert family.filler == sum(isinstance(event, Nop) for event in events)
    assert all(isinstance(event, Close) for event in events[before:])
    assert family.depth == len(events) - before


def test_the_answer_differs_between_the_cuts(family):
    """The deepest binding is visible before the closes and not after them."""
    before, after = observe(family.program, family.before_cut), observe(family.program, family.after_cut)
    assert before.value != after.value
    assert family.depth == len(before.active_scopes)
    assert family.depth - family.closures == len(after.active_scopes)


def test_kinds_come_from_the_parity_of_the_index(family):
    """Even inner, odd outer."""
    assert ("outer" if family.seed_index % 2 else "inner") == family.lookup_kind


def test_a_family_survives_its_json_form(family):
    """Seeds included, which are decimal strings there."""
    row = family_to_json(family)
    assert family == family_from_json(row)
    assert {str} == {type(seed) for seed in row["seeds"].values()}


def test_a_taken_structure_is_drawn_again():
    """The second family of a slot takes the next free draw of the class."""
    first = Generator(5, 2).family(slot())
    second = Generator(5, 2, {first.skeleton}).family(slot())
    assert second.attempt > first.attempt
    assert second.skeleton != first.skeleton


def test_a_plan_fails_after_ten_thousand_misses():
    """With a class that does not exist every draw is a miss; the message names slot, class and remedy."""
    with pytest.raises(
        GenerationError, match=rf"t-2-0-1: no free outer structure of class 9 .* {MAX_ATTEMPTS} draws; ask"
    ):
        Generator(5, 9).family(slot(depth=2, filler=0))


def test_the_largest_family_of_the_hard_grid():
    """Depth 32 with 2,048 nops is drawn and observed like any other."""
    family = Generator(20261005, 2).family(slot(depth=32, filler=2048, index=0))
    assert 32 == len(observe(family.program, family.before_cut).active_scopes)
    assert 16 == len(observe(family.program, family.after_cut).active_scopes)
