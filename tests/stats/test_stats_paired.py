"""The estimand: pairing, averaging, strata and what is left out."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from stats_rows import differences, family, trial

from bench.plan import protocol
from bench.score.outcome import Outcome
from bench.stats.analysis import PRIMARY_SELECTION
from bench.stats.contrast import CHECKS, EXPLORATORY, PRIMARY, Contrast, Selection
from bench.stats.paired import family_pairs, highest, lowest, paired_sample, sample_of, to_pp

T1 = Selection("scope_lookup", "after_close")


def estimate(rows, selection=T1, contrast=PRIMARY):
    return paired_sample(rows, selection, contrast).estimate()


def test_four_families_of_the_specification():
    """B = 1,0,1,0 and D = 1,1,0,1 give a difference of 0.25."""
    rows = [
        row
        for index, (b, d) in enumerate(zip((1, 0, 1, 0), (1, 1, 0, 1), strict=True))
        for row in family(f"f{index}", [b], [d], seed_index=index)
    ]
    assert Fraction(1, 4) == estimate(rows)


def test_regimes_weigh_equally():
    """Natural +1 and nonce 0 make a family's difference one half."""
    assert Fraction(1, 2) == estimate(family("f", [0, 1], [1, 1]))


def test_replicates_are_averaged_first():
    """Three replicates of one regime weigh no more than one of the other."""
    rows = [
        *(trial("B", 0, lexical="natural", replicate=r) for r in range(3)),
        *(trial("D", d, lexical="natural", replicate=r) for r, d in enumerate((1, 0, 0))),
        trial("B", 1, lexical="nonce"),
        trial("D", 0, lexical="nonce"),
    ]
    sample = paired_sample(rows, T1, PRIMARY)
    assert Fraction(1, 2) * (Fraction(1, 3) - 1) == sample.estimate()
    assert 1 == sample.families


def test_one_missing_replicate_removes_its_family():
    """A cell of regime and notation is evaluable only with all its replicates: averages keep one denominator."""
    rows = [
        trial(s, score, replicate=r)
        for r, scores in enumerate(((0, 1), (0, None)))
        for s, score in zip("BD", scores, strict=True)
    ]
    sample = paired_sample(rows, T1, PRIMARY)
    assert (0, 1) == (sample.families, sample.planned)


def test_copied_replicates_change_nothing():
    """Copying every trial as a further replicate leaves families and difference as they were."""
    rows = differences([2, -1, 0, 1])
    copies = [replace(row, row=replace(row.row, replicate=1, trial_id=row.row.trial_id + "copy")) for row in rows]
    once, twice = (paired_sample(r, T1, PRIMARY) for r in (rows, rows + copies))
    assert (once.estimate(), once.families) == (twice.estimate(), twice.families)


def test_a_duplicated_row_changes_nothing():
    """The same row twice is one trial."""
    rows = differences([2, -1, 0, 1])
    copied = replace(rows[5])
    assert paired_sample(rows, T1, PRIMARY) == paired_sample([*rows, rows[0], rows[3], copied], T1, PRIMARY)


def test_rows_that_contradict_each_other_are_refused():
    """One trial id with two results has no score."""
    with pytest.raises(ValueError, match="two different results"):
        estimate([trial("B", 0), trial("B", 1), trial("D", 1)])


def test_cells_weigh_equally_whatever_their_size():
    """A cell of four families at +1 and one of a single family at -1 average to 0."""
    assert Fraction(0) == estimate(differences([2, 2, 2, 2], [-2]))


def test_unequal_cells_by_hand():
    """Means 1/2 (4 families), -2/7 (7) and 1/10 (10): the estimate is their mean, 11/105."""
    rows = differences([2, 2, 0, 0], [-2, -2, 0, 0, 0, 0, 0], [1, 1] + [0] * 8)
    assert (Fraction(1, 2) - Fraction(2, 7) + Fraction(1, 10)) / 3 == estimate(rows)
    assert Fraction(11, 105) == estimate(rows)


def test_one_missing_half_removes_its_family():
    """With nonce D missing, the family is planned but not available."""
    rows = family("f0", [0, 0], [1, None]) + family("f1", [0, 0], [1, 1], seed_index=1)
    sample = paired_sample(rows, T1, PRIMARY)
    assert (1, 2, Fraction(1)) == (sample.families, sample.planned, sample.estimate())


def test_both_halves_missing_remove_the_family():
    """A regime that was not run removes the family too: d is the mean of two regimes or nothing."""
    rows = family("f0", [0, None], [1, None]) + family("f1", [1, 1], [0, 0], seed_index=1)
    sample = paired_sample(rows, T1, PRIMARY)
    assert (("f1",), Fraction(-1)) == (sample.strata[0].families, sample.estimate())


def test_a_planned_half_that_is_no_row_at_all_is_missing():
    """A family planned under B only does not pair."""
    rows = [trial("B", 1, family="f0"), *family("f1", [0], [1], seed_index=1)]
    sample = paired_sample(rows, T1, PRIMARY)
    assert (1, 2) == (sample.families, sample.planned)


def test_another_notation_never_removes_a_family():
    """A, C and E missing leave D minus B as it is."""
    rows = [*differences([1, 1]), *(trial(s, None, family="c0f0") for s in "ACE")]
    assert Fraction(1, 2) == estimate(rows)


def test_a_whole_cell_missing_is_seen():
    """An empty stratum stays in the sample, and the estimate is over the others."""
    sample = paired_sample([*differences([2, 0]), *family("x", [None], [None], cell=(4, 4))], T1, PRIMARY)
    assert sample.has_empty_stratum
    assert not paired_sample(differences([2, 0], [1]), T1, PRIMARY).has_empty_stratum
    assert [2, 0] == [len(stratum.units) for stratum in sample.strata]


def test_discordant_families_are_those_with_a_difference_of_either_sign():
    """Five of six."""
    assert 5 == paired_sample(differences([2, 2, -1, -1, 0], [-2]), T1, PRIMARY).discordant


def test_no_family_at_all_has_no_estimate():
    """Nothing planned or nothing available: None, not 0."""
    assert estimate([]) is None
    assert estimate(family("f", [None], [1])) is None


def test_swapping_the_notations_negates():
    """B minus D is minus (D minus B), family by family."""
    rows = differences([2, -1, 0], [1, 1])
    there, back = (paired_sample(rows, T1, c) for c in (PRIMARY, PRIMARY.swapped))
    assert [tuple(-u for u in s.units) for s in there.strata] == [s.units for s in back.strata]
    assert -there.estimate() == back.estimate()


def test_permuting_rows_changes_nothing():
    """The order of the file is not data."""
    rows = differences([2, -1, 0, 0, 1], [1, 1, -2])
    shuffled = rows.copy()
    random.Random(7).shuffle(shuffled)
    assert paired_sample(rows, T1, PRIMARY) == paired_sample(shuffled, T1, PRIMARY)


def test_families_stand_in_seed_order():
    """Index 10 comes after 9: the order is by number, as the draws need it."""
    rows = [row for i in (10, 2, 9) for row in family(f"f{i}", [0], [1], seed_index=i)]
    assert ("f2", "f9", "f10") == paired_sample(rows, T1, PRIMARY).strata[0].families


def test_families_and_strata_keep_their_place():
    """Cell, index, regimes and replicates are those of the plan, in the order (regime, replicate)."""
    places = [("nonce", 0), ("natural", 1), ("natural", 0)]
    rows = [trial(s, 1, cell=(4, 8), seed_index=3, lexical=lex, replicate=r) for lex, r in places for s in "BD"]
    (found,) = family_pairs(rows, T1, PRIMARY)
    assert ("f0", 4, 8, 3) == (found.family_id, found.depth, found.filler, found.seed_index)
    assert sorted(places) == [(pair.lexical, pair.replicate) for pair in found.pairs]
    (stratum,) = sample_of([found]).strata
    assert (4, 8, ("f0",), (0,), 1) == (stratum.depth, stratum.filler, stratum.families, stratum.units, stratum.planned)


def test_models_wrong_format_counts_as_zero():
    """Format errors, refusals and truncation are evaluable and score 0."""
    rows = [
        trial("B", 1),
        replace(trial("D", 0), outcome=Outcome.INCOMPLETE_OUTPUT),
    ]
    assert Fraction(-1) == estimate(rows)


def test_selections_narrow():
    """Regime, lookup kind, cell and example set each keep what they say."""
    rows = [*family("a", [0, 1], [1, 0], seed_index=0), *family("b", [0, 0], [0, 0], seed_index=1, cell=(4, 8))]
    wanted = {
        Selection("scope_lookup", "after_close", lexical="nonce"): Fraction(-1, 2),
        Selection("scope_lookup", "after_close", lexical="natural", lookup_kind="inner"): Fraction(1),
        Selection("scope_lookup", "after_close", depth=4): Fraction(0),
        Selection("scope_lookup", "after_close", filler=0, lexical="nonce"): Fraction(-1),
        Selection("scope_lookup", "after_close", lexical="natural", without_example_set=0): Fraction(0),
        Selection("scope_lookup", "after_close", lexical="natural", without_cell=(4, 8)): Fraction(1),
        Selection("active_stack", "after_close"): None,
    }
    assert wanted == {selection: estimate(rows, selection) for selection in wanted}


def test_interaction_weighs_nonce_against_natural():
    """Nonce +1 and natural -1 interact by 2."""
    families = family_pairs(family("f", [1, 0], [0, 1]), T1, PRIMARY)
    sample = sample_of(families, regimes=({"natural": -1, "nonce": 1}, 1))
    assert Fraction(2) == sample.estimate()


def test_bounds_by_hand():
    """Known +1, and one family with D missing (B = 0): the mean lies between 1/2 and 1."""
    families = family_pairs(family("a", [0], [1]) + family("b", [0], [None], seed_index=1), T1, PRIMARY)
    assert (Fraction(1, 2), Fraction(1)) == tuple(sample_of(families, f).estimate() for f in (lowest, highest))


def test_bounds_with_both_halves_missing():
    """Nothing known of a family: from -1 to 1."""
    families = family_pairs(family("a", [None], [None]), T1, PRIMARY)
    assert (Fraction(-1), Fraction(1)) == tuple(sample_of(families, f).estimate() for f in (lowest, highest))


def test_contrast_names_and_the_seven():
    """Names are as in the files, and the seven exploratory contrasts are those of the protocol."""
    assert "named_end-generic_end" == PRIMARY.name
    letters = {"braces": "A", "generic_end": "B", "typed_end": "C", "named_end": "D", "padded_end": "E"}
    found = {letters[c.plus] + letters[c.minus] for c in EXPLORATORY}
    assert {"DE", "DC", "CB", "BA", "CA", "DA", "EA"} == found
    assert Contrast("generic_end", "named_end") == PRIMARY.swapped


def test_what_is_analysed_is_what_a_protocol_promises():
    """The primary contrast and place, the seven and the two of the check: the frozen names, in the frozen order."""
    promised = protocol.PRIMARY
    assert (promised["task"], promised["view"]) == (PRIMARY_SELECTION.task, PRIMARY_SELECTION.view)
    assert promised["contrast"] == PRIMARY.name
    assert list(protocol.EXPLORATORY_CONTRASTS) == [contrast.name for contrast in EXPLORATORY]
    assert list(protocol.CHECK_CONTRASTS) == [contrast.name for contrast in CHECKS]


def test_percentage_points():
    """One eighth is 12.5 pp."""
    assert 12.5 == to_pp(Fraction(1, 8))
    assert to_pp(None) is None
