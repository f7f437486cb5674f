"""The bootstrap distribution itself, by convolution: no seed, no resampling.

In a stratum of m families a resample's sum is m independent draws from the observed differences, so its distribution is
the m-fold convolution of theirs; the strata's distributions are convolved in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft

from bench.stats.bootstrap import LOWER, UPPER, Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bench.stats.paired import PairedSample

MAX_POINTS = 2_000_000
"""Above this many lattice points the distribution is left ``not_computed``."""
DIRECT_POINTS = 1 << 14
ROUNDING = 1e-12
"""How far a probability may lie off through floating addition; far below any p that is asked for."""


@dataclass(frozen=True, slots=True)
class ExactBootstrap:
    """Probability of each total ``first + i``; an estimate is ``total / scale``."""

    first: int
    cumulative: NDArray[np.float64]
    scale: int

    def quantile(self, p: Fraction) -> Fraction:
        """The smallest estimate whose cumulative probability reaches ``p``."""
        index = int(np.searchsorted(self.cumulative, float(p) - ROUNDING))
        return Fraction(self.first + min(index, len(self.cumulative) - 1), self.scale)

    def interval(self, low: Fraction = LOWER, high: Fraction = UPPER) -> Interval:
        """The percentile interval in percentage points."""
        return Interval(float(self.quantile(low) * 100), float(self.quantile(high) * 100))

    def distribution_at(self, estimate: Fraction) -> tuple[float, float]:
        """Probability of an estimate strictly below the given one, and of one not above it."""
        total = estimate * self.scale - self.first
        floor = total.numerator // total.denominator
        strictly_below = floor - 1 if total.denominator == 1 else floor
        return self._at(strictly_below), self._at(floor)

    def _at(self, index: int) -> float:
        return 0.0 if index < 0 else float(self.cumulative[min(index, len(self.cumulative) - 1)])


def lattice_points(sample: PairedSample) -> int:
    """How many totals can occur at most: the length of the exact distribution."""
    return 1 + sum(
        weight * len(stratum.units) * (max(stratum.units) - min(stratum.units))
        for weight, stratum in zip(sample.weights, sample.filled, strict=True)
    )


def exact_bootstrap(sample: PairedSample) -> ExactBootstrap | None:
    """The exact bootstrap distribution; ``None`` without families or above ``MAX_POINTS`` lattice points."""
    if not sample.scale or lattice_points(sample) > MAX_POINTS:
        return None
    parts = [_stratum_distribution(stratum.units) for stratum in sample.filled]
    first = sum(
        weight * len(stratum.units) * min(stratum.units)
        for weight, stratum in zip(sample.weights, sample.filled, strict=True)
    )
    stretched = [_stretch(part, weight) for part, weight in zip(parts, sample.weights, strict=True)]
    cumulative = np.cumsum(_convolve_all(stretched))
    return ExactBootstrap(first, cumulative / cumulative[-1], sample.scale)


def _stratum_distribution(units: tuple[int, ...]) -> NDArray[np.float64]:
    """Distribution of the sum of m draws, by repeated squaring."""
    square = np.bincount(np.array(units) - min(units)) / len(units)
    result = np.ones(1)
    remaining = len(units)
    while True:
        if remaining & 1:
            result = np.convolve(result, square)
        remaining >>= 1
        if not remaining:
            return result
        square = np.convolve(square, square)


def _stretch(values: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    wide = np.zeros((len(values) - 1) * step + 1)
    wide[::step] = values
    return wide


def _convolve_all(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    length = sum(len(part) - 1 for part in parts) + 1
    if length <= DIRECT_POINTS:
        result = parts[0]
        for part in parts[1:]:
            result = np.convolve(result, part)
        return result
    size = fft.next_fast_len(length, real=True)
    spectrum = np.prod([fft.rfft(part, size) for part in parts], axis=0)
    return np.maximum(np.asarray(fft.irfft(spectrum, size), dtype=np.float64)[:length], 0.0)
