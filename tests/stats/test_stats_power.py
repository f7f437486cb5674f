"""Smallest detectable difference, families needed, and the forecast of a run's cost."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from scipy import stats
from stats_rows import differences, sample, trial
from test_stats_analysis import PROTOCOL, small_run

from bench.stats.forecast import PowerError, power_report
from bench.stats.power import deviations, families_needed, mde_from_discordance_pp, mde_pp

LIMITED = PROTOCOL | {"config": {"limits": {"max_rpm": 60, "max_tpm": 200_000, "concurrency": 4}}}
SPREAD = sample([2, -2, 0, 0, 1, -1, 0, 0], [2, -2, 0, 0, 1, -1, 0, 0])


def test_deviations_have_the_unbiased_variance():
    """Blown up by sqrt(m/(m-1)), their mean square is the sample variance."""
    pool = deviations(sample([2, 0, -1, 1]))
    assert np.var(np.array([2, 0, -1, 1]) / 2, ddof=1) == pytest.approx(float(np.mean(pool.values**2)))
    assert not pool.assumed


def test_a_pilot_without_spread_is_given_some():
    """All differences 0: one family each way is assumed, and said."""
    pool = deviations(sample([0, 0, 0, 0]))
    assert pool.assumed
    assert [-0.5, 0, 0, 0, 0, 0.5] == sorted(pool.values)


def test_single_family_strata_say_nothing_of_variance():
    """None instead of zero variance."""
    assert deviations(sample([2], [0])) is None


def test_mde_is_near_the_normal_answer_for_many_families():
    """(1.96 + 0.84) standard errors."""
    pool = deviations(SPREAD)
    sd = sqrt(float(np.mean(pool.values**2)))
    expected = 100 * (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * sd / sqrt(16 * 32)
    assert mde_pp(pool, cells=16, families_per_cell=32, seed=1) == pytest.approx(expected, rel=0.05)


def test_a_run_of_the_mde_is_detected_four_times_in_five():
    """Simulated afresh with another seed, the t test finds the difference with 80 % power."""
    pool = deviations(SPREAD)
    cells, m = 4, 12
    effect = mde_pp(pool, cells=cells, families_per_cell=m, seed=1) / 100
    rng = np.random.default_rng(99)
    drawn = effect + pool.values[rng.integers(0, len(pool.values), (4000, cells, m))]
    se = np.sqrt(drawn.var(axis=2, ddof=1).sum(axis=1) / m) / cells
    found = np.mean(drawn.mean(axis=(1, 2)) / se > stats.t.ppf(0.975, cells * (m - 1)))
    assert found == pytest.approx(0.80, abs=0.03)


def test_a_skewed_pilot_is_answered_for_the_harder_direction():
    """Rare large gains: at the answer, a difference of either sign is found at least four times in five."""
    pool = deviations(sample([2] + [0] * 11, [2] + [0] * 11))
    effect = mde_pp(pool, cells=2, families_per_cell=12, seed=1) / 100 + 1e-9  # it lies on an atom of the lattice
    rng = np.random.default_rng(5)
    drawn = pool.values[rng.integers(0, len(pool.values), (4000, 2, 12))]
    se = np.sqrt(drawn.var(axis=2, ddof=1).sum(axis=1) / 12) / 2
    critical = stats.t.ppf(0.975, 22)
    shares = [np.mean(sign * drawn.mean(axis=(1, 2)) + effect > critical * se) for sign in (1, -1)]
    assert min(shares) >= 0.78


def test_more_families_detect_less():
    """Halving the difference takes about four times the families."""
    pool = deviations(SPREAD)
    needed = [families_needed(pool, cells=8, wanted_pp=pp, seed=2) for pp in (10.0, 5.0)]
    assert needed[1] / needed[0] == pytest.approx(4, rel=0.15)
    assert mde_pp(pool, cells=8, families_per_cell=needed[0], seed=2) <= 10.0
    assert mde_pp(pool, cells=8, families_per_cell=needed[0] - 1, seed=2) > 10.0


def test_one_family_a_cell_detects_nothing():
    """No variance, no test."""
    assert mde_pp(deviations(SPREAD), cells=8, families_per_cell=1, seed=2) is None


def test_the_same_seed_gives_the_same_answer():
    """Printed in a preregistration, it must come back."""
    pool = deviations(SPREAD)
    assert mde_pp(pool, cells=3, families_per_cell=9, seed=7) == mde_pp(pool, cells=3, families_per_cell=9, seed=7)


@pytest.mark.parametrize(
    ("families", "discordance", "expected"),
    [(60, 0.1, 8.9), (120, 0.2, 9.0), (240, 0.1, 4.6), (240, 0.4, 9.1), (480, 0.1, 3.2), (480, 0.4, 6.5)],
)
def test_the_textbook_table(families, discordance, expected):
    """Two regimes correlated at .3: 240 families with 10 % discordant pairs detect 4.6 pp."""
    assert expected == pytest.approx(mde_from_discordance_pp(discordance, families=families), abs=0.06)


def test_cost_by_hand():
    """10 trials a family, 1,000 tokens and 3 s a trial; 2 cells of 8: 160 trials, 320 requests at 60 a minute."""
    rows = [replace(r, total_tokens=1000, total_s=3.0) for r in small_run()]
    found = power_report(rows, LIMITED, families_per_cell=[8], wanted_pp=[])
    (row,) = found.sizes
    assert (2, 16, 160, 160_000) == (found.cells, row.families, row.cost.trials, row.cost.tokens)
    assert row.cost.hours == pytest.approx(320 / 60 / 60)


def test_tokens_or_latency_can_bind():
    """50,000 tokens a trial at 200,000 a minute; 600 s a trial four at a time."""
    by_tokens = [replace(r, total_tokens=50_000, total_s=3.0) for r in small_run()]
    by_time = [replace(r, total_tokens=10, total_s=600.0) for r in small_run()]
    hours = [
        power_report(r, LIMITED, families_per_cell=[8], wanted_pp=[]).sizes[0].cost.hours for r in (by_tokens, by_time)
    ]
    assert [160 * 50_000 / 200_000 / 60, 160 * 600 / 4 / 3600] == pytest.approx(hours)


def test_another_grid_and_wanted_differences():
    """Sixteen cells; an unreachable wish is None, not a number."""
    found = power_report(small_run(), LIMITED, cells=16, families_per_cell=[32], wanted_pp=[20.0, 0.01])
    assert 16 * 32 == found.sizes[0].families
    assert 16 * found.wanted[0].families_per_cell == found.wanted[0].families
    assert (None, None) == (found.wanted[1].families_per_cell, found.wanted[1].cost)
    assert found.sizes[0].cost.tokens is None


def test_a_pilot_without_data_is_refused():
    """In one line that says what is missing."""
    with pytest.raises(PowerError, match="two finished families"):
        power_report([trial("B", None), trial("D", None)], LIMITED)
    with pytest.raises(PowerError):
        power_report(differences([2]), LIMITED)
