"""The seeded interval: draws, percentiles, exactness at 0, and agreement with scipy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from stats_rows import differences, sample

from bench.stats import bootstrap as module
from bench.stats.bootstrap import Interval, Resamples, bootstrap, percentile
from bench.stats.contrast import PRIMARY, Selection
from bench.stats.paired import PairedSample, paired_sample

T1 = Selection("scope_lookup", "after_close")


@pytest.mark.parametrize(
    ("values", "p", "expected"),
    [
        ([1, 2, 3, 4, 5], Fraction(1, 2), Fraction(3)),
        ([0, 10], Fraction(1, 4), Fraction(5, 2)),
        ([0, 10, 20, 40], Fraction(9, 10), Fraction(34)),
        ([7], Fraction(39, 40), Fraction(7)),
        ([-3, 5], Fraction(0), Fraction(-3)),
        ([-3, 5], Fraction(1), Fraction(5)),
    ],
)
def test_percentile_interpolates_at_n_minus_1_times_p(values, p, expected):
    """Position (n - 1) p of the sorted values, linear, exact."""
    assert expected == percentile(np.array(values), p)


def test_percentile_agrees_with_numpy_linear():
    """Numpy's default method is the same definition."""
    values = np.sort(np.random.default_rng(5).integers(-50, 50, 1000))
    for p in (Fraction(25, 1000), Fraction(1, 3), Fraction(975, 1000)):
        assert float(percentile(values, p)) == pytest.approx(float(np.percentile(values, float(p * 100))))


@pytest.mark.parametrize("seed", [0, 1295802650997258572, -7313151909143123131])
def test_agrees_with_scipy_on_unequal_strata(seed):
    """Every end and the whole distribution equal scipy's with each stratum as a sample of its own."""
    cells = ([2, 0, -1, 1], [0, 0, 1, 1, 2, -2, 0], [1, 0, 0, 0, -1, 2, 0, 0, 1, 1])
    ours = bootstrap(sample(*cells), seed=seed, resamples=2000)
    arrays = [np.array(cell) / 2 for cell in cells]
    theirs = stats.bootstrap(
        arrays,
        lambda *s, axis: sum(x.mean(axis=axis) for x in s) / len(s),
        paired=False,
        vectorized=True,
        n_resamples=2000,
        batch=None,
        method="percentile",
        rng=np.random.default_rng(seed % 2**64),
    )
    assert np.sort(theirs.bootstrap_distribution) == pytest.approx(ours.totals / ours.scale, abs=1e-12)
    found = ours.interval()
    assert (theirs.confidence_interval.low, theirs.confidence_interval.high) == pytest.approx(
        (found.low_pp / 100, found.high_pp / 100), abs=1e-12
    )


def test_draws_are_the_documented_ones():
    """default_rng(seed).integers(0, m, (B, m)), stratum by stratum in order."""
    cells = ([2, 0, -1, 1], [0, 1, 2])
    rng = np.random.default_rng(11)
    sums = [np.array(cell)[rng.integers(0, len(cell), (500, len(cell)))].sum(axis=1) for cell in cells]
    expected = np.sort(3 * sums[0] + 4 * sums[1])
    assert expected.tolist() == bootstrap(sample(*cells), seed=11, resamples=500).totals.tolist()


@pytest.mark.parametrize("elements", [1, 7, 64, 10_000])
def test_batch_size_changes_no_draw(monkeypatch, elements):
    """Memory settings never reach the generator."""
    cells = sample([2, 0, -1, 1, 1], [0, 1, 2], [1])
    whole = bootstrap(cells, seed=3, resamples=301).totals.tolist()
    monkeypatch.setattr(module, "BATCH_ELEMENTS", elements)
    assert whole == bootstrap(cells, seed=3, resamples=301).totals.tolist()


def test_another_seed_gives_other_draws_and_the_same_seed_the_same():
    """The seed is all that decides."""
    cells = sample([2, 0, -1, 1, 1], [0, 1, 2])
    first, again, other = (bootstrap(cells, seed=s, resamples=200).totals.tolist() for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_all_zero_has_width_zero():
    """The distribution degenerates to a point."""
    assert Interval(0.0, 0.0) == bootstrap(sample([0, 0], [0, 0]), seed=1, resamples=100).interval()


def test_all_plus_one_has_width_zero_at_100():
    """Every resample of +1 is +1."""
    assert Interval(100.0, 100.0) == bootstrap(sample([2, 2], [2, 2, 2]), seed=1, resamples=100).interval()


@pytest.mark.parametrize(
    ("low", "high", "excludes"),
    [
        (1, 2, True),
        (-2, -1, True),
        (0.5, 0.75, True),
        (-0.75, -0.5, True),
        (0, 1, False),
        (-1, 0, False),
        (-1, 1, False),
    ],
)
def test_an_interval_excludes_zero_only_if_both_ends_lie_beyond_it(low, high, excludes):
    """An end at 0 does not."""
    assert excludes == Interval(low, high).excludes_zero


def test_the_standard_deviation_is_of_the_estimates_in_percentage_points():
    """Totals 0, 2, 4 at a scale of 4: estimates 0, 1/2, 1, whose variance is 1/6."""
    assert 100 / 6**0.5 == pytest.approx(Resamples(np.array([0, 2, 4]), 4).sd_pp)


def test_one_family_in_a_stratum_adds_no_variance():
    """The single family is drawn every time: only the other stratum moves the estimate."""
    found = bootstrap(sample([2], [0, 2]), seed=1, resamples=400)
    assert {4, 6, 8} == {int(t) for t in np.unique(found.totals)}


def test_an_end_that_is_exactly_zero_is_zero():
    """Thirds and sevenths: floating means would leave 1e-17; the interval does not exclude 0."""
    found = bootstrap(sample([0, 0, 0, 0, 0, 0, 1], [0, 0, 1]), seed=9, resamples=1000).interval()
    assert 0.0 == found.low_pp
    assert not found.excludes_zero


def test_totals_beyond_64_bits_stay_exact():
    """Sizes whose least common multiple is astronomical give the sums that plain integers give."""
    cells = [[j % 3 for j in range(size)] for size in (53, 59, 61, 64, 67, 71, 73, 79, 83, 89, 97)]
    families = sample(*cells)
    rng = np.random.default_rng(1)
    sums = [np.array(cell)[rng.integers(0, len(cell), (20, len(cell)))].sum(axis=1).tolist() for cell in cells]
    expected = sorted(
        sum(w * s for w, s in zip(families.weights, drawn, strict=True)) for drawn in zip(*sums, strict=True)
    )
    assert expected == bootstrap(families, seed=1, resamples=20).totals.tolist()


def test_totals_at_the_edge_of_64_bits_do_not_wrap():
    """An interaction reaches 2, hence twice the scale: at a scale of 2**62 that is one more than 64 bits hold."""
    assert Interval(200.0, 200.0) == bootstrap(sample([2**62], [2**62], unit=2**61), seed=1, resamples=5).interval()


def test_ordinary_totals_are_machine_integers():
    """Python's own integers, many times slower, are for totals that need them."""
    assert np.int64 == bootstrap(sample([0] * 7, [1] * 9, [2] * 10), seed=1, resamples=5).totals.dtype


def test_nothing_to_resample_is_an_error():
    """An empty sample has no interval, and asking for one is the caller's mistake."""
    with pytest.raises(ValueError, match=r"^no family is available: nothing can be resampled$"):
        bootstrap(PairedSample((), 1), seed=1, resamples=10)


def test_swapping_negates_the_distribution():
    """The same draws of negated differences mirror the interval."""
    rows = differences([2, -1, 0, 1, 1], [1, 0, -2])
    there, back = (
        bootstrap(paired_sample(rows, T1, c), seed=4, resamples=999).interval() for c in (PRIMARY, PRIMARY.swapped)
    )
    assert (-there.high_pp, -there.low_pp) == pytest.approx((back.low_pp, back.high_pp), abs=1e-12)
