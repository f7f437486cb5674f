"""Exact sign-flip test over families: are the two notations exchangeable within every family?

T is the weighted sum of family differences, on integers. Under the hypothesis each family's difference has either sign
with probability 1/2, so T's distribution is a convolution. It tests exchangeability, not a mean of zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bench.stats.paired import PairedSample

MAX_POINTS = 2_000_000
MAX_OPERATIONS = 400_000_000
"""Lattice points times families beyond which the test draws instead: about a second of additions."""
DRAWS = 1_000_000
DRAW_ELEMENTS = 1 << 22
EXACT_FLOAT = 2**53
TIE = 1e-12
"""Sums above ``EXACT_FLOAT`` are rounded as they are added; those this close, as a share of all steps, are equal."""


@dataclass(frozen=True, slots=True)
class SignFlip:
    """Two-sided p and mid-p. ``draws`` gives (k + 1)/(n + 1) for p, and the mid-p counts ties by half."""

    p: float
    mid_p: float
    method: Literal["exact", "draws"]


def sign_flip(sample: PairedSample, *, seed: int) -> SignFlip:
    """The test for a paired sample; data without any difference give p = 1. ``seed`` matters only for draws."""
    steps = [
        weight * value
        for weight, stratum in zip(sample.weights, sample.filled, strict=True)
        for value in stratum.units
        if value
    ]
    return sign_flip_of(steps, seed=seed)


def sign_flip_of(steps: Sequence[int], *, seed: int) -> SignFlip:
    """The test for integer differences that are summed as they are; zeros change nothing."""
    nonzero = [step for step in steps if step]
    if not nonzero:
        return SignFlip(1.0, 1.0, "exact")
    common = gcd(*nonzero)
    sizes = sorted(abs(step) // common for step in nonzero)
    target = abs(sum(nonzero)) // common
    points = sum(sizes) + 1
    if points <= MAX_POINTS and points * len(sizes) <= MAX_OPERATIONS:
        return _exact(sizes, target)
    return _drawn(sizes, target, np.random.default_rng(seed % 2**64))


def _exact(sizes: list[int], target: int) -> SignFlip:
    """Position s of the distribution is the sum of the positive steps: T = 2 s - (sum of all steps)."""
    total = sum(sizes)
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    reached = 0
    for size in sizes:
        reached += size
        moved = 0.5 * chance[: reached + 1]
        chance[: reached + 1] = moved
        chance[size : reached + 1] += moved[: reached + 1 - size]
    distance = np.abs(2 * np.arange(total + 1) - total)
    beyond = float(chance[distance > target].sum())
    level = float(chance[distance == target].sum())
    return SignFlip(min(1.0, beyond + level), min(1.0, beyond + level / 2), "exact")


def _drawn(sizes: list[int], target: int, rng: np.random.Generator) -> SignFlip:
    steps = np.array(sizes, dtype=np.float64)
    slack = TIE * sum(sizes) if sum(sizes) > EXACT_FLOAT else 0.0
    rows = max(1, DRAW_ELEMENTS // len(sizes))
    beyond = level = 0
    for start in range(0, DRAWS, rows):
        excess = _distances(steps, rng, min(rows, DRAWS - start)) - float(target)
        beyond += int((excess > slack).sum())
        level += int((np.abs(excess) <= slack).sum())
    return SignFlip((beyond + level + 1) / (DRAWS + 1), (beyond + level / 2 + 1) / (DRAWS + 1), "draws")


def _distances(steps: NDArray[np.float64], rng: np.random.Generator, rows: int) -> NDArray[np.float64]:
    """The absolute value of T for each row of drawn signs; exact while the sum of all steps is below 2**53."""
    signs = rng.integers(0, 2, (rows, len(steps)), dtype=np.int8)
    plus: NDArray[np.float64] = signs @ steps
    return np.asarray(np.abs(2.0 * plus - steps.sum()), dtype=np.float64)
