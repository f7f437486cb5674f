"""The primary interval: percentile bootstrap of families within strata, seeded (specification, 10.5).

Resamples integers and divides last. The draws depend on the seed and the stratum sizes alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bench.stats.paired import PairedSample

BATCH_ELEMENTS = 1 << 16
"""Indices drawn at a time, few enough to stay in cache (twice as fast as a million).

Numpy continues one stream over successive calls, so this changes no draw.
"""
LOWER, UPPER = Fraction(25, 1000), Fraction(975, 1000)


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends in percentage points."""

    low_pp: float
    high_pp: float

    @property
    def excludes_zero(self) -> bool:
        """Whether both ends lie strictly on the same side of 0."""
        return self.low_pp > 0 or self.high_pp < 0

    def inside(self, bound_pp: float) -> bool:
        """Whether the interval lies strictly within plus or minus ``bound_pp``."""
        return -bound_pp < self.low_pp and self.high_pp < bound_pp


@dataclass(frozen=True, slots=True)
class Resamples:
    """Sorted totals of the resampled estimates; an estimate is ``total / scale``."""

    totals: NDArray[np.int64]
    scale: int

    def percentile(self, p: Fraction) -> Fraction:
        """The exact value at position (n - 1) p of the sorted estimates, linearly interpolated."""
        return percentile(self.totals, p) / self.scale

    def interval(self, low: Fraction = LOWER, high: Fraction = UPPER) -> Interval:
        """The percentile interval in percentage points."""
        return Interval(float(self.percentile(low) * 100), float(self.percentile(high) * 100))

    @property
    def sd_pp(self) -> float:
        """Standard deviation of the resampled estimates in percentage points."""
        return float(np.std(self.totals.astype(float))) / self.scale * 100


def percentile(ordered: NDArray[np.int64], p: Fraction) -> Fraction:
    """The value at position (n - 1) p of a sorted integer array, linearly interpolated, without rounding."""
    position = (len(ordered) - 1) * p
    below = int(position)
    low = int(ordered[below])
    high = int(ordered[min(below + 1, len(ordered) - 1)])
    return low + (position - below) * (high - low)


def bootstrap(sample: PairedSample, *, seed: int, resamples: int) -> Resamples:
    """Families drawn with replacement within each filled stratum, ``resamples`` times.

    Stratum by stratum, in order, exactly ``default_rng(seed mod 2**64).integers(0, m, (resamples, m))``.
    Raises ``ValueError`` for a sample without families.
    """
    if not sample.scale:
        raise ValueError("no family is available: nothing can be resampled")
    rng = np.random.default_rng(seed % 2**64)
    exceeds_int64 = sample.scale >= 2**62
    totals = np.zeros(resamples, dtype=object if exceeds_int64 else np.int64)
    for weight, stratum in zip(sample.weights, sample.filled, strict=True):
        sums = _stratum_sums(np.array(stratum.units, dtype=np.int64), rng, resamples)
        totals += (sums.astype(object) if exceeds_int64 else sums) * weight
    totals.sort()
    return Resamples(totals, sample.scale)


def _stratum_sums(units: NDArray[np.int64], rng: np.random.Generator, resamples: int) -> NDArray[np.int64]:
    size = len(units)
    rows = max(1, BATCH_ELEMENTS // size)
    sums = np.empty(resamples, dtype=np.int64)
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        sums[start:stop] = units[rng.integers(0, size, (stop - start, size))].sum(axis=1)
    return sums
