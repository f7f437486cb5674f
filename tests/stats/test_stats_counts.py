"""McNemar, Wilson and Holm against hand values and reference implementations."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from bench.stats.counts import holm, mcnemar, wilson


def test_mcnemar_without_discordant_pairs():
    """b = c = 0 gives 1 and 1, no division by zero."""
    assert (1.0, 1.0) == (mcnemar(0, 0).exact_p, mcnemar(0, 0).mid_p)


def test_mcnemar_published_pair():
    """65 to 40 discordant answers (chain of thought against direct, BBH dyck languages): .0187 and .0148."""
    found = mcnemar(65, 40)
    assert (0.0187, 0.0148) == (round(found.exact_p, 4), round(found.mid_p, 4))


def test_mcnemar_by_hand():
    """0 to 3: p = 2/8, mid-p = 1/8."""
    assert (0.25, 0.125) == (mcnemar(0, 3).exact_p, mcnemar(0, 3).mid_p)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_equals_the_binomial_test(b, c):
    """Exact p is scipy's two-sided binomial test, and the order of the two counts is irrelevant."""
    found = mcnemar(b, c)
    expected = stats.binomtest(b, b + c).pvalue if b + c else 1.0
    assert found.exact_p == pytest.approx(expected)
    assert found.mid_p <= found.exact_p
    assert (found.exact_p, found.mid_p) == (mcnemar(c, b).exact_p, mcnemar(c, b).mid_p)


def test_wilson_edges():
    """0 of n starts at exactly 0 and ends at z^2/(n + z^2); nothing observed has no interval."""
    z2 = stats.norm.ppf(0.975) ** 2
    assert {0.0} == {wilson(0, n)[0] for n in range(1, 200)}
    assert {1.0} == {wilson(n, n)[1] for n in range(1, 200)}
    assert wilson(0, 10)[1] == pytest.approx(z2 / (10 + z2))
    assert wilson(0, 0) is None


@pytest.mark.parametrize(("k", "n"), [(1, 7), (5, 10), (99, 100), (40, 512)])
def test_wilson_equals_statsmodels(k, n):
    """The same interval as proportion_confint(method='wilson')."""
    assert proportion_confint(k, n, method="wilson") == pytest.approx(wilson(k, n))


def test_holm_by_hand():
    """0.01, 0.04, 0.03: 0.03, then max(0.03, 0.06), then max(0.06, 0.04)."""
    assert [0.03, 0.06, 0.06] == pytest.approx(holm([0.01, 0.04, 0.03]))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_equals_statsmodels(p_values):
    """The same adjusted values, ties included."""
    assert list(multipletests(p_values, method="holm")[1]) == pytest.approx(holm(p_values))


def test_holm_treats_undefined_as_one():
    """None and NaN count in the family and are never rejected."""
    assert [0.03, 1.0, 1.0] == pytest.approx(holm([0.01, None, math.nan]))
    assert [] == holm([])
