"""Which sets a family uses, and which cases it becomes."""

from collections import Counter

import pytest

from bench.data.expand import Questions, SetChoice, expand_family, set_choices
from bench.data.generate import Generator, Slot

FAMILY = Generator(1, 2).family(Slot("t-0", "reading", "t", "reading/2-0-0", 2, 0, 0))


@pytest.mark.parametrize("families", [1, 2, 4, 7, 8, 32, 33])
def test_sets_are_balanced_in_a_cell(families):
    """Counts of the 8 sets differ by at most 1, also when a cell has fewer families than sets."""
    choices = set_choices(3, "pilot", "reading/8-32", families)
    for number in ("lexicon_set", "example_set"):
        counts = Counter(getattr(choice, number) for choice in choices)
        values = [counts[index] for index in range(8)]
        assert max(values) - min(values) <= 1


@pytest.mark.parametrize("families", [4, 8, 32])
def test_sets_are_not_tied_to_the_lookup_kind(families):
    """Inner families first, then outer ones, they walk through one permutation of the 8 sets again and again."""
    choices = set_choices(3, "pilot", "reading/8-32", families)
    for number in ("lexicon_set", "example_set"):
        order = [getattr(choice, number) for choice in (*choices[::2], *choices[1::2])]
        assert min(8, families) == len(set(order[:8]))
        assert all(order[turn] == order[turn - 8] for turn in range(8, families))


def test_lexicons_and_examples_have_permutations_of_their_own_and_so_has_each_cell():
    """Independent of each other and of the cell beside."""
    here, there = (set_choices(3, "pilot", cell, 8) for cell in ("reading/8-32", "reading/8-128"))
    assert [choice.lexicon_set for choice in here] != [choice.example_set for choice in here]
    assert here != there
    assert here == set_choices(3, "pilot", "reading/8-32", 8)


def test_a_family_becomes_one_case_per_task_regime_and_view():
    """Views for the reading tasks, whole programs for the writing one; the nonce set stands in nonce cases only."""
    questions = Questions(
        ["scope_lookup", "active_stack", "ast_to_source"], ["before_close", "after_close"], ["natural", "nonce"]
    )
    cases = expand_family(FAMILY, SetChoice(lexicon_set=5, example_set=2), questions)
    assert 10 == len(cases) == len({case.case_id for case in cases})
    assert "t-0/scope_lookup/before_close/natural" == cases[0].case_id
    assert "t-0/ast_to_source/program/nonce5" == cases[-1].case_id
    assert {None} == {case.lexicon_set for case in cases if case.lexical == "natural"}
    assert {FAMILY.after_cut} == {case.cut for case in cases if case.view == "after_close"}
    assert {None} == {case.cut for case in cases if case.view == "program"}
