"""The stratified t interval against hand values and an independent least-squares form."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.formula.api as smf
from pandas import DataFrame
from scipy import stats
from stats_rows import sample

from bench.stats.bootstrap import bootstrap
from bench.stats.tinterval import bootstrap_sd_pp, standard_error, t_interval

EQUAL = ([2, 0, -1, 1], [0, 0, 1, 1], [1, 2, 2, 0])
UNEQUAL = ([2, 0, -1, 1], [0, 0, 1, 1, 2, -2, 0], [1, 0, 0, 0, -1, 2, 0, 0, 1, 1])


def test_one_stratum_by_hand():
    """Differences 0 and 1: s^2 = 1/2, SE = 1/2, one degree of freedom."""
    found = standard_error(sample([0, 2]))
    assert (50.0, 1.0) == pytest.approx((found.se_pp, found.df))


def test_two_strata_by_hand():
    """s^2 = 1/2 and 1/3 with m = 2 and 4: SE^2 = (1/4 + 1/12)/4 = 1/12, df by Satterthwaite 36/19."""
    found = standard_error(sample([0, 2], [0, 0, 2, 2]))
    assert found.se_pp == pytest.approx(100 * (1 / 12) ** 0.5)
    assert found.df == pytest.approx((1 / 3) ** 2 / ((1 / 4) ** 2 / 1 + (1 / 12) ** 2 / 3))


def test_equal_sizes_add_their_degrees_of_freedom():
    """Three strata of four: nine, whatever the variances."""
    assert 9.0 == standard_error(sample(*EQUAL)).df


def test_the_interval_is_estimate_plus_minus_t_times_se():
    """By scipy's quantile."""
    cells = sample(*EQUAL)
    error, found = standard_error(cells), t_interval(cells, confidence=0.90)
    half = stats.t.ppf(0.95, 9) * error.se_pp
    centre = float(cells.estimate() * 100)
    assert (centre - half, centre + half) == pytest.approx((found.low_pp, found.high_pp))


@pytest.mark.parametrize("cells", [EQUAL, UNEQUAL])
def test_least_squares_with_clusters_gives_the_same_se(cells):
    """OLS of d on sum-coded strata: the intercept is the estimate; its HC variance is the stratified one.

    With families as clusters of one row each the sandwich sums squared residuals per stratum; statsmodels' factor
    (n-1)/(n-K) * G/(G-1) is taken out and m/(m-1) per stratum put in.
    """
    frame = DataFrame(
        [(k, d / 2, f"{k}-{i}") for k, cell in enumerate(cells) for i, d in enumerate(cell)], columns=["k", "d", "g"]
    )
    plain = smf.ols("d ~ C(k, Sum)", frame)
    fit = plain.fit()
    residual = np.asarray(fit.resid)
    sizes = frame.groupby("k")["d"].transform("size").to_numpy()
    bread = np.linalg.inv(plain.exog.T @ plain.exog)
    meat = plain.exog.T @ (plain.exog * (residual**2 * sizes / (sizes - 1))[:, None])
    found = sample(*cells)
    assert fit.params["Intercept"] == pytest.approx(float(found.estimate()))
    assert 100 * (bread @ meat @ bread)[0, 0] ** 0.5 == pytest.approx(standard_error(found).se_pp)


def test_statsmodels_cluster_covariance_for_equal_sizes():
    """With equal sizes statsmodels' own cluster covariance differs by a known factor only."""
    frame = DataFrame(
        [(k, d / 2, 4 * k + i) for k, cell in enumerate(EQUAL) for i, d in enumerate(cell)], columns=["k", "d", "g"]
    )
    fit = smf.ols("d ~ C(k, Sum)", frame).fit(cov_type="cluster", cov_kwds={"groups": frame["g"]})
    n, k, m = 12, 3, 4
    correction = (n - 1) / (n - k) * n / (n - 1)  # statsmodels' factor; m/(m-1) = n/(n-k) for equal sizes
    assert correction == pytest.approx(m / (m - 1))
    assert 100 * fit.bse["Intercept"] == pytest.approx(standard_error(sample(*EQUAL)).se_pp)


@pytest.mark.parametrize("cells", [EQUAL, UNEQUAL, ([2], [0, 2, 0, 1])])
def test_the_bootstrap_has_the_predicted_standard_deviation(cells):
    """sqrt((m-1)/m) too small in every stratum, as printed beside the interval."""
    found = bootstrap(sample(*cells), seed=8, resamples=20_000)
    assert found.sd_pp == pytest.approx(bootstrap_sd_pp(sample(*cells)), rel=0.03)


def test_one_family_in_a_stratum_adds_no_variance_and_no_freedom():
    """The other stratum alone carries the error, over K = 2."""
    found = standard_error(sample([2], [0, 2]))
    assert (25.0, 1.0) == pytest.approx((found.se_pp, found.df))


@pytest.mark.parametrize("cells", [([0, 0], [0, 0]), ([2, 2], [2, 2, 2]), ([2], [0])])
def test_a_zero_error_gives_no_interval(cells):
    """A standard error of exactly 0 is never printed as certainty."""
    assert t_interval(sample(*cells), confidence=0.95) is None


def test_no_family():
    """No error, no interval."""
    assert standard_error(sample()) is None
    assert t_interval(sample(), confidence=0.95) is None
