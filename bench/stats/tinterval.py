"""The stratified t interval and the bootstrap standard deviation that the analysis must reproduce.

SE^2 = K^-2 sum s_k^2 / m_k with s_k^2 the sample variance (divisor m_k - 1); degrees of freedom sum (m_k - 1), by
Satterthwaite's formula where sizes differ. A stratum of one family adds no variance and no degree of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from scipy.special import stdtrit

from bench.stats.bootstrap import Interval

if TYPE_CHECKING:
    from bench.stats.paired import PairedSample, Stratum


@dataclass(frozen=True, slots=True)
class StandardError:
    """Standard error in percentage points and its degrees of freedom (0 where no stratum holds two families)."""

    se_pp: float
    df: float


def sample_variance(stratum: Stratum) -> float:
    """Variance of a stratum's units with divisor m - 1; 0 for one family. Exactly 0 for equal units."""
    m = len(stratum.units)
    squares = m * sum(value * value for value in stratum.units) - sum(stratum.units) ** 2
    return squares / (m * (m - 1)) if m > 1 else 0.0


def standard_error(sample: PairedSample) -> StandardError | None:
    """The stratified standard error over the filled strata; ``None`` without families."""
    strata = sample.filled
    if not strata:
        return None
    parts = [sample_variance(stratum) / len(stratum.units) for stratum in strata]
    se = sqrt(sum(parts)) / (len(strata) * sample.unit)
    return StandardError(100 * se, _degrees_of_freedom(parts, [len(stratum.units) for stratum in strata]))


def t_interval(sample: PairedSample, *, confidence: float) -> Interval | None:
    """The stratified t interval; ``None`` where its standard error is 0 or has no degree of freedom."""
    error = standard_error(sample)
    estimate = sample.estimate()
    if error is None or estimate is None or error.se_pp == 0 or error.df == 0:
        return None
    half = float(stdtrit(error.df, (1 + confidence) / 2)) * error.se_pp
    centre = float(estimate * 100)
    return Interval(centre - half, centre + half)


def bootstrap_sd_pp(sample: PairedSample) -> float:
    """What the standard deviation of the bootstrap must be: K^-1 sqrt(sum (m_k - 1)/m_k s_k^2/m_k), in pp."""
    strata = sample.filled
    parts = [(len(s.units) - 1) / len(s.units) ** 2 * sample_variance(s) for s in strata]
    return 100 * sqrt(sum(parts)) / (len(strata) * sample.unit)


def _degrees_of_freedom(parts: list[float], sizes: list[int]) -> float:
    free = float(sum(size - 1 for size in sizes))
    if len(set(sizes)) == 1:
        return free
    spread = sum(part * part / (size - 1) for part, size in zip(parts, sizes, strict=True) if size > 1)
    return sum(parts) ** 2 / spread if spread else free
