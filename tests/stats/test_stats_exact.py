"""The bootstrap distribution without resampling."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats_rows import sample

from bench.stats import exact as module
from bench.stats.bootstrap import Interval, bootstrap
from bench.stats.exact import exact_bootstrap, lattice_points

UNITS = st.lists(st.integers(-2, 2), min_size=1, max_size=4)


def enumerated(cells):
    """Every resample of every stratum, with its probability, by brute force."""
    paired = sample(*cells)
    mass = {Fraction(0): Fraction(1)}
    for weight, cell in zip(paired.weights, cells, strict=True):
        chance = Fraction(1, len(cell) ** len(cell))
        mass_of_sum: dict[int, Fraction] = {}
        for drawn in product(cell, repeat=len(cell)):
            mass_of_sum[sum(drawn)] = mass_of_sum.get(sum(drawn), Fraction(0)) + chance
        grown: dict[Fraction, Fraction] = {}
        for (total, p), (drawn_sum, q) in product(mass.items(), mass_of_sum.items()):
            key = total + Fraction(weight * drawn_sum, paired.scale)
            grown[key] = grown.get(key, Fraction(0)) + p * q
        mass = grown
    return mass


@settings(max_examples=60, deadline=None)
@given(st.lists(UNITS, min_size=1, max_size=3))
def test_equals_brute_force(cells):
    """The distribution function at every attainable estimate is that of all equally likely resamples."""
    found = exact_bootstrap(sample(*cells))
    running = Fraction(0)
    for estimate, chance in sorted(enumerated(cells).items()):
        below, at = found.distribution_at(estimate)
        assert below == pytest.approx(float(running), abs=1e-9)
        running += chance
        assert at == pytest.approx(float(running), abs=1e-9)


def test_two_families_by_hand():
    """0 and +1: sums 0, 1, 2 with chances 1/4, 1/2, 1/4."""
    found = exact_bootstrap(sample([0, 2]))
    assert [Fraction(0), Fraction(1, 2), Fraction(1)] == [found.quantile(Fraction(p, 100)) for p in (25, 75, 76)]
    assert (0.25, 0.75) == found.distribution_at(Fraction(1, 2))
    assert (0.75, 0.75) == found.distribution_at(Fraction(3, 4))


def test_ends_outside_the_support():
    """Below everything 0, above everything 1."""
    found = exact_bootstrap(sample([0, 2], [1, 1]))
    assert (0.0, 0.0) == found.distribution_at(Fraction(-3))
    assert (1.0, 1.0) == found.distribution_at(Fraction(3))


@pytest.mark.parametrize("value", [0, 2, -2])
def test_equal_differences_are_a_point(value):
    """All zero, all +1, all -1: width 0."""
    found = exact_bootstrap(sample([value] * 5, [value] * 4))
    assert Interval(50.0 * value, 50.0 * value) == found.interval()


def test_the_seeded_interval_lies_on_it():
    """For strata of 4, 7 and 10 the seeded ends are ends of the exact distribution within Monte Carlo error."""
    cells = sample([2, 0, -1, 1], [0, 0, 1, 1, 2, -2, 0], [1, 0, 0, 0, -1, 2, 0, 0, 1, 1])
    seeded = bootstrap(cells, seed=1, resamples=10_000)
    found = exact_bootstrap(cells)
    for p in (0.025, 0.975):
        below, at = found.distribution_at(seeded.percentile(Fraction(p)))
        tolerance = 4 * (p * (1 - p) / 10_000) ** 0.5
        assert below - tolerance <= p <= at + tolerance


def test_fourier_and_direct_convolution_agree(monkeypatch):
    """The long way for large lattices gives the same distribution."""
    cells = sample([2, 0, -1, 1], [0, 0, 1, 1, 2, -2, 0], [1, 0, 0, 0, -1, 2, 0, 0, 1])
    direct = exact_bootstrap(cells).cumulative
    monkeypatch.setattr(module, "DIRECT_POINTS", 1)
    assert np.allclose(direct, exact_bootstrap(cells).cumulative, atol=1e-12)


def test_a_lattice_that_is_too_large_is_not_computed():
    """Sizes whose least common multiple explodes: None instead of an hour or an approximation."""
    cells = sample(*([2, -2] * size for size in (53, 59, 61, 67)))
    assert lattice_points(cells) > module.MAX_POINTS
    assert exact_bootstrap(cells) is None


def test_main_size_lattice():
    """512 families in 16 cells of 32, units in halves, have 2,049 totals."""
    assert 2049 == lattice_points(sample(*([[2, -2] * 16] * 16)))


def test_no_family_has_no_distribution():
    """Nothing to convolve."""
    assert exact_bootstrap(sample()) is None
