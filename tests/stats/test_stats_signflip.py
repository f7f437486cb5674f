"""The exact sign-flip test: hand values, brute force, scipy, and its fallback."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from stats_rows import sample

from bench.stats import signflip as module
from bench.stats.signflip import sign_flip, sign_flip_of


def brute_force(steps):
    target = abs(sum(steps))
    totals = [
        abs(sum(s * step for s, step in zip(signs, steps, strict=True)))
        for signs in product((1, -1), repeat=len(steps))
    ]
    beyond, level = sum(t > target for t in totals), sum(t == target for t in totals)
    return (beyond + level) / len(totals), (beyond + level / 2) / len(totals)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(-6, 6), max_size=9).filter(any))
def test_equals_all_sign_patterns(steps):
    """p and mid-p count the 2^n sign patterns."""
    found = sign_flip_of(steps, seed=0)
    assert brute_force(steps) == pytest.approx((found.p, found.mid_p))


def test_all_zero_gives_one():
    """No difference, no evidence: p and mid-p are 1."""
    found = sign_flip(sample([0, 0], [0]), seed=0)
    assert (1.0, 1.0, "exact") == (found.p, found.mid_p, found.method)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 512])
def test_all_plus_one_gives_two_to_the_one_minus_n(n):
    """Only all + and all - reach the total; 512 families stay exact."""
    found = sign_flip(sample([2] * n), seed=0)
    assert 2.0 ** (1 - n) == found.p
    assert 2.0**-n == found.mid_p


def test_one_nonzero_family_gives_one():
    """One family flips to the same distance either way."""
    found = sign_flip(sample([0, 0, 1], [0, 0, 0]), seed=0)
    assert (1.0, 0.5) == (found.p, found.mid_p)


def test_unequal_strata_weigh_families_by_their_cell():
    """In cells of 3 and 1 the family of the smaller counts three times: p = 1/2, unweighted it would be 5/8."""
    found = sign_flip(sample([2, 2, -2], [2]), seed=0)
    assert brute_force([1, 1, -1, 3]) == pytest.approx((found.p, found.mid_p))
    assert 0.5 == found.p


def test_agrees_with_scipys_permutation_test():
    """permutation_type='samples' on the differences of 12 families."""
    units = [2, 1, 1, -1, 2, 2, -2, 1, 1, 1, -1, 2]
    theirs = stats.permutation_test(
        (np.array(units, dtype=float),),
        lambda x, axis: x.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert theirs.pvalue == pytest.approx(sign_flip(sample(units), seed=0).p)


def test_swapping_and_scaling_change_nothing():
    """Signs and a common factor are not evidence."""
    steps = [3, -6, 9, 3, 3]
    one = sign_flip_of(steps, seed=0)
    assert one == sign_flip_of([-s for s in steps], seed=0)
    assert one == sign_flip_of([s // 3 for s in steps], seed=0)


def test_the_fallback_draws_and_agrees(monkeypatch):
    """Beyond the lattice 10^6 seeded draws take over; p is (k + 1)/(n + 1) and lies near the exact one."""
    units = [2, 1, 1, -1, 2, 2, -2, 1, 1, 1, -1, 2]
    exact = sign_flip(sample(units), seed=0)
    monkeypatch.setattr(module, "MAX_POINTS", 1)
    monkeypatch.setattr(module, "DRAWS", 100_000)
    drawn = sign_flip(sample(units), seed=5)
    assert "draws" == drawn.method
    assert drawn.p == pytest.approx(exact.p, abs=0.005)
    assert drawn.mid_p == pytest.approx(exact.mid_p, abs=0.005)
    assert drawn == sign_flip(sample(units), seed=5)


def test_drawn_p_is_never_zero(monkeypatch):
    """The observed labelling is one of the labellings."""
    monkeypatch.setattr(module, "MAX_OPERATIONS", 1)
    monkeypatch.setattr(module, "DRAWS", 1000)
    assert 1 / 1001 == sign_flip_of([1] * 60, seed=1).p


@pytest.mark.parametrize("seed", range(12))
def test_ties_are_seen_on_a_lattice_finer_than_a_float(monkeypatch, seed):
    """Seven steps near 10^18, all of one sign: the two patterns as far out have p = 2/128, whatever rounding does."""
    monkeypatch.setattr(module, "DRAWS", 20_000)
    dice = random.Random(seed)
    steps = [2 * dice.randrange(10**17, 10**18) + 1 for _ in range(7)]
    assert sign_flip_of(steps, seed=1).p == pytest.approx(2 / 128, abs=0.004)
