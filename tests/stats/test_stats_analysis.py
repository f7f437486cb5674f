"""The whole analysis on small runs with hand-checked values."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from stats_rows import SYNTAX, differences, family, trial

from bench.score.outcome import Outcome
from bench.stats.analysis import analyse, run_state, with_holm
from bench.stats.contrast import PRIMARY, Selection
from bench.stats.contrast_result import contrast_result
from bench.stats.document import analysis_json
from bench.stats.settings import AnalysisSettings, settings_from

T1 = Selection("scope_lookup", "after_close")
SETTINGS = AnalysisSettings(bootstrap_seed=5, resamples=500)
PROTOCOL = {
    "seeds": {"bootstrap": "-17"},
    "analysis": {"resamples": 500},
    "decision_rule": {"smallest_effect_pp": 5, "max_infrastructure_missing_percent": 1},
    "stop_rule": {"planned_trials_terminal_percent": 100},
    "confirmatory": False,
}
CONTRAST_FIELDS = [
    "task", "view", "contrast", "estimate_pp", "ci95_low_pp", "ci95_high_pp", "exact95_low_pp", "exact95_high_pp",
    "t95_low_pp", "t95_high_pp", "signflip_p", "families", "families_planned", "flags", "verdict",
]  # fmt: skip


def primary(rows, **settings):
    return contrast_result(rows, T1, PRIMARY, settings=replace(SETTINGS, **settings))


def small_run(*, cells=2, size=12):
    """A run of all five notations; D is right more often than B."""
    dice = random.Random(4)
    return [
        trial(
            s,
            int(dice.random() < p),
            family=f"c{k}f{i}",
            seed_index=i,
            cell=(2, k),
            lexical=lexical,
            position=position + 10 * i + 1000 * k + 5 * (lexical == "nonce"),
        )
        for k in range(cells)
        for i in range(size)
        for lexical in ("natural", "nonce")
        for position, (s, p) in enumerate(zip("ABCDE", (0.4, 0.3, 0.5, 0.8, 0.4), strict=True))
    ]


def test_all_zero_is_degenerate_without_interval():
    """No interval, p = 1, the flag, and the ceiling and floor counts."""
    found = primary(differences([0] * 12, [0] * 12))
    assert 0.0 == found.estimate_pp
    assert (None, None, None) == (found.ci95, found.exact95, found.t95)
    assert 1.0 == found.signflip_p
    assert {"degenerate", "narrow"} == set(found.flags)
    assert (24, 24) == (found.pairs.both_correct, found.pairs.both_wrong)
    assert "inconclusive" == found.verdict


def test_all_plus_one_has_width_zero_and_is_positive():
    """Every family +1: the interval is [100, 100], marked; the sign-flip p is 2^(1-n)."""
    found = primary(differences([2] * 12, [2] * 12))
    assert (100.0, 100.0, 100.0) == (found.estimate_pp, found.ci95.low_pp, found.ci95.high_pp)
    assert 2.0**-23 == found.signflip_p
    assert ("zero_width",) == found.flags
    assert "positive" == found.verdict


def test_opposite_constant_strata_are_degenerate():
    """+1 in one cell and -1 in the other: the distribution is the point 0, and nobody may call that equivalent."""
    found = primary(differences([2] * 12, [-2] * 12))
    assert 0.0 == found.estimate_pp
    assert "degenerate" in found.flags
    assert "inconclusive" == found.verdict


def test_one_nonzero_family():
    """One half of +1 among 20 families: 2.5 pp, p = 1, narrow, inconclusive."""
    found = primary(differences([1] + [0] * 9, [0] * 10))
    assert 2.5 == found.estimate_pp
    assert 1.0 == found.signflip_p
    assert "narrow" in found.flags
    assert "inconclusive" == found.verdict


def test_small_strata_are_narrow_and_never_decide():
    """Nine families in a stratum at +1 each: the interval excludes 0 and the verdict is still inconclusive."""
    found = primary(differences([2] * 8 + [1], [2] * 8 + [1]))
    assert found.ci95.low_pp > 0
    assert ("narrow",) == found.flags
    assert "inconclusive" == found.verdict


def test_single_family_strata_have_no_interval():
    """With one family in every stratum nothing can vary: no interval instead of one of width 0."""
    found = primary(differences([2], [0]))
    assert 50.0 == found.estimate_pp
    assert found.ci95 is None
    assert {"narrow", "single_family_stratum"} <= set(found.flags)


def test_an_empty_stratum_leaves_the_estimand_undefined():
    """The value over the other strata has another name; no interval of it stands beside null."""
    found = primary([*differences([2, 0]), *family("x", [0, 0], [None, 1], cell=(4, 4))])
    assert (None, 50.0) == (found.estimate_pp, found.estimate_available_strata_pp)
    assert (None, None, None) == (found.ci95, found.t95, found.signflip_p)
    assert {"empty_stratum", "missing_halves"} <= set(found.flags)
    assert (1, 2) == (found.strata_available, found.strata_planned)


def test_error_reduction_by_hand_and_na():
    """B errs in 3 of 4, D in 1 of 4: two thirds fewer errors. Without an error of B it is NA."""
    rows = [
        r for i, (b, d) in enumerate([(0, 1), (0, 1), (0, 0), (1, 1)]) for r in family(f"f{i}", [b], [d], seed_index=i)
    ]
    assert primary(rows).error_reduction == pytest.approx(2 / 3)
    assert primary(family("f", [1], [0])).error_reduction is None


def test_swapping_notations_negates_everything():
    """Estimate, exact and t intervals mirror; p-values stay; counts change sides."""
    rows = differences([2, -1, 0, 1, 1, 0, 2, 1, 0, 0], [1, 0, -2, 0, 1, 1, 2, 0, 0, 1])
    there = primary(rows)
    back = contrast_result(rows, T1, PRIMARY.swapped, settings=SETTINGS)
    assert there.estimate_pp == -back.estimate_pp
    assert (-there.t95.high_pp, -there.t95.low_pp) == pytest.approx((back.t95.low_pp, back.t95.high_pp))
    assert (there.signflip_p, there.pairs.plus_only) == (back.signflip_p, back.pairs.minus_only)
    assert (-there.bounds.high_pp, -there.bounds.low_pp) == (back.bounds.low_pp, back.bounds.high_pp)


def test_renaming_families_changes_no_exact_result():
    """Names order draws at most; estimate, exact, t and sign-flip do not know them."""
    rows = differences([2, -1, 0, 1], [1, 0, -2, 0])
    renamed = [replace(r, row=replace(r.row, family_id=r.row.family_id[::-1])) for r in rows]
    one, other = primary(rows), primary(renamed)
    keys = ("estimate_pp", "exact95", "t95", "signflip_p", "ci95")
    assert [getattr(one, k) for k in keys] == [getattr(other, k) for k in keys]


def test_permuting_rows_changes_nothing_at_all():
    """The whole document is the same."""
    rows = small_run()
    shuffled = rows.copy()
    random.Random(1).shuffle(shuffled)
    assert analysis_json(analyse(rows, PROTOCOL)) == analysis_json(analyse(shuffled, PROTOCOL))


def test_a_missing_third_notation_changes_no_primary_number():
    """An infrastructure failure of A, C or E leaves D minus B alone."""
    rows = small_run()
    hurt = [
        replace(r, strict=None, outcome=Outcome.API_REJECTED) if r.row.syntax in {SYNTAX[s] for s in "ACE"} else r
        for r in rows
    ]
    one, other = (primary(r) for r in (rows, hurt))
    assert (one.estimate_pp, one.ci95, one.families) == (other.estimate_pp, other.ci95, other.families)


def test_the_document_has_the_fixed_fields():
    """primary and contrasts carry exactly the published names, in plain JSON."""
    document = analysis_json(analyse(small_run(), PROTOCOL))
    assert CONTRAST_FIELDS == list(document["primary"])
    assert all(CONTRAST_FIELDS == list(contrast) for contrast in document["contrasts"])
    assert document == json.loads(json.dumps(document))
    assert "named_end-generic_end" == document["primary"]["contrast"]


def test_the_seven_are_exploratory_and_adjusted():
    """Seven contrasts beside the primary, each marked, each with Holm's p at least its own."""
    found = analyse(small_run(), PROTOCOL)
    assert 7 == len(found.contrasts)
    assert all("exploratory" in c.flags and c.holm_p >= c.signflip_p for c in found.contrasts)
    assert "exploratory" not in found.primary.flags


def test_holm_marks_an_undefined_p():
    """An undefined contrast counts as p = 1 in the family and says so."""
    defined = primary(differences([2] * 12))
    undefined = primary(family("f", [None], [1]))
    adjusted = with_holm([defined, undefined])
    assert (2 * defined.signflip_p, False) == (adjusted[0].holm_p, adjusted[0].holm_undefined)
    assert (1.0, True) == (adjusted[1].holm_p, adjusted[1].holm_undefined)


def test_a_run_without_named_end_has_no_primary():
    """What was not planned is None, and other contrasts still stand."""
    rows = [r for r in small_run() if r.row.syntax != "named_end"]
    found = analyse(rows, PROTOCOL)
    assert found.primary is None
    assert {"typed_end-generic_end", "generic_end-braces", "typed_end-braces", "padded_end-braces"} == {
        c.contrast for c in found.contrasts
    }


def test_anything_not_terminal_withholds_the_verdict():
    """A provisional run has numbers and no verdict."""
    rows = small_run()
    rows[0] = replace(rows[0], strict=None, outcome=Outcome.NOT_DISPATCHED, dispatched=False, terminal=False)
    found = analyse(rows, PROTOCOL)
    assert found.state.provisional
    assert "withheld" == found.primary.verdict
    assert found.primary.ci95 is not None


def test_infrastructure_missing_above_one_percent_withholds():
    """3 of 240 trials rejected by the service: 1.25 %."""
    rows = small_run()
    for i in range(3):
        rows[i] = replace(rows[i], strict=None, outcome=Outcome.API_REJECTED)
    found = analyse(rows, PROTOCOL)
    assert (0.0125, True) == (found.state.infrastructure_missing_share, found.state.infrastructure_missing_above_limit)
    assert ("infrastructure missing above 1%",) == found.primary.verdict_reasons


@pytest.mark.parametrize(("terminal", "met"), [(54, False), (55, True)])
def test_a_stop_rule_met_to_the_trial_is_met(terminal, met):
    """55 of 100 trials under a rule of 55 %: 0.55 * 100 is above 55 in floating arithmetic, and must not count as so."""
    rows = [trial("D", 1 if i < terminal else None, family=f"f{i}") for i in range(100)]
    settings = settings_from(PROTOCOL | {"stop_rule": {"planned_trials_terminal_percent": 55}})
    assert met == run_state(rows, settings).stop_rule_met


def test_breakdowns_by_hand():
    """Natural +1, nonce -1 in every family: the interaction is -2, each cell and lookup kind 0."""
    rows = [
        row for k in (0, 1) for i in range(4) for row in family(f"c{k}f{i}", [0, 1], [1, 0], seed_index=i, cell=(2, k))
    ]
    parts = {p.label: p.estimate_pp for p in analyse(rows, PROTOCOL).breakdowns["scope_lookup", "after_close"]}
    assert (100.0, -100.0, -200.0) == (parts["natural"], parts["nonce"], parts["nonce minus natural"])
    assert 0.0 == parts["inner"] == parts["outer"] == parts["cell=2x1"] == parts["without cell 2x0"]
    assert 0.0 == parts["without example set 3"]


def test_leaving_one_cell_out_by_hand():
    """Cells at 100 and 0: without either, the other."""
    rows = differences([2, 2], [0, 0])
    parts = {p.label: p.estimate_pp for p in analyse(rows, PROTOCOL).breakdowns["scope_lookup", "after_close"]}
    assert (0.0, 100.0) == (parts["without cell 2x0"], parts["without cell 2x1"])


def test_manski_bounds_by_hand():
    """Three families at +1, 0 and B right with D missing: -1/3+..: (1+0-1)/3 to (1+0+0)/3."""
    rows = [*family("a", [0], [1]), *family("b", [1], [1], seed_index=1), *family("c", [1], [None], seed_index=2)]
    found = primary(rows)
    assert (0.0, 100 / 3) == pytest.approx((found.bounds.low_pp, found.bounds.high_pp))
    assert 1 == found.bounds.missing_halves


def test_the_interval_of_the_bounds_is_that_of_the_two_fills():
    """Its ends are the lower end of the low fill and the upper end of the high fill, on the same draws."""
    known = differences([2, -1, 0, 1, 0, 1], [1, 0, -2, 0, 1, 1])
    missing = family("x", [0, None], [None, 1], seed_index=6)
    low, high = (
        primary([*known, *family("x", *filled, seed_index=6)]) for filled in (([0, 1], [0, 1]), ([0, 0], [1, 1]))
    )
    found = primary([*known, *missing]).bounds
    assert (low.ci95.low_pp, high.ci95.high_pp) == (found.ci_low_pp, found.ci_high_pp)
    assert low.ci95.high_pp < found.ci_high_pp


def test_bounds_without_missing_halves_are_the_estimate_and_its_interval():
    """Nothing missing, nothing to bound."""
    found = primary(differences([2, 0, 1, -1], [1, 1, 0, 2]))
    assert found.estimate_pp == found.bounds.low_pp == found.bounds.high_pp
    assert (found.ci95.low_pp, found.ci95.high_pp) == (found.bounds.ci_low_pp, found.bounds.ci_high_pp)


def test_missingness_tests_by_hand():
    """Five families of one pair where D was truncated and B was not: p = 2^-4."""
    rows = [row for i in range(5) for row in family(f"f{i}", [1], [0], seed_index=i)]
    rows = [replace(r, outcome=Outcome.INCOMPLETE_OUTPUT) if r.row.syntax == "named_end" else r for r in rows]
    tests = {t.what: (t.plus_count, t.minus_count, t.pairs, t.p) for t in primary(rows).missingness}
    assert {"missing": (0, 0, 5, 1.0), "truncation": (5, 0, 5, 0.0625), "format": (0, 0, 5, 1.0)} == tests


def test_mcnemar_per_regime():
    """Natural: three families for D; nonce: none discordant."""
    rows = [row for i in range(3) for row in family(f"f{i}", [0, 1], [1, 1], seed_index=i)]
    found = {t.lexical: t.test for t in primary(rows).mcnemar}
    assert (3, 0, 0.25, 0.125) == (
        found["natural"].plus_only, found["natural"].minus_only, found["natural"].exact_p, found["natural"].mid_p,
    )  # fmt: skip
    assert 1.0 == found["nonce"].exact_p


def test_self_tests_pass_on_ordinary_data():
    """Two ends on the exact distribution and the spread of the resamples."""
    found = primary(differences([2, 0, 1, -1] * 4, [1, 1, 0, 2] * 4), resamples=10_000)
    assert [True, True, True] == [test.passed for test in found.self_tests]


def test_a_wrong_seeded_interval_fails_the_self_test(monkeypatch):
    """Resamples that drop a family per stratum are caught by both self-tests."""
    from bench.stats import bootstrap as module

    honest = module._stratum_sums
    monkeypatch.setattr(
        module, "_stratum_sums", lambda units, rng, n: honest(units[1:], rng, n) * len(units) // (len(units) - 1)
    )
    found = primary(differences([2, 0, 1, -1] * 4, [1, 1, 0, 2] * 4), resamples=10_000)
    assert "selftest_failed" in found.flags
    assert "inconclusive" == found.verdict


def test_mde_stands_beside_an_interval_that_contains_zero():
    """A null result says what it could have seen; a positive one need not."""
    assert primary(differences([2, -2, 0, 0] * 3, [1, -1, 0, 0] * 3)).mde_pp > 0
    assert primary(differences([2] * 12, [1] * 12)).mde_pp is None


def test_settings_come_from_the_protocol():
    """Seed as decimal string, shares from percentages."""
    assert AnalysisSettings(-17, 500, 5.0, 0.01, 1.0, confirmatory=False) == settings_from(PROTOCOL)
    with pytest.raises(KeyError, match="stop_rule"):
        settings_from({k: v for k, v in PROTOCOL.items() if k != "stop_rule"})


def test_tasks_and_views_are_analysed_apart():
    """T2 and T3 have their own D minus B, marked exploratory."""
    rows = [
        *differences([2] * 3),
        *(trial(s, int(s == "B"), task="active_stack", family="t2") for s in "BD"),
        *(trial(s, 1, task="ast_to_source", view="program", family="t3") for s in "BD"),
    ]
    found = analyse(rows, PROTOCOL)
    assert [("active_stack", -100.0), ("ast_to_source", 0.0)] == [(c.task, c.estimate_pp) for c in found.contrasts]
    assert all("exploratory" in c.flags for c in found.contrasts)
