"""Tests and intervals for counts: McNemar, Wilson, Holm.

Plain numbers in, plain numbers out; nothing here knows of trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, isnan, sqrt
from typing import TYPE_CHECKING

from scipy.special import ndtri

if TYPE_CHECKING:
    from collections.abc import Sequence

Z95 = float(ndtri(0.975))


@dataclass(frozen=True, slots=True)
class McNemar:
    """Exact and mid-p of a pair table whose discordant counts are ``plus_only`` and ``minus_only``."""

    plus_only: int
    minus_only: int
    exact_p: float
    mid_p: float


def mcnemar(plus_only: int, minus_only: int) -> McNemar:
    """Exact p = min(1, 2 P(X <= min)) for X binomial(n, 1/2) and mid-p, which takes P(X = min) off.

    Without a discordant pair both are 1.

    Fagerland, Lydersen and Laake, BMC Medical Research Methodology 13:91 (2013).
    """
    n, smaller = plus_only + minus_only, min(plus_only, minus_only)
    tail = sum(comb(n, k) for k in range(smaller + 1))
    exact_p = min(1.0, 2 * tail / 2**n)
    mid_p = (2 * tail - comb(n, smaller)) / 2**n
    return McNemar(plus_only, minus_only, exact_p, 1.0 if n == 0 else min(1.0, mid_p))


def wilson(successes: int, n: int, *, z: float = Z95) -> tuple[float, float] | None:
    """Wilson's score interval for a proportion; ``None`` for n = 0. 0 of n starts at exactly 0, n of n ends at 1."""
    if n == 0:
        return None
    p = successes / n
    widened = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / widened
    half = z / widened * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (0.0 if successes == 0 else centre - half, 1.0 if successes == n else centre + half)


def holm(p_values: Sequence[float | None]) -> list[float]:
    """Adjusted p-values in the given order: running maximum of (n - i + 1) p_(i), at most 1.

    An undefined p (``None`` or NaN) counts as 1. Equal p-values get equal adjusted values.
    """
    defined = [1.0 if p is None or isnan(p) else p for p in p_values]
    adjusted = [0.0] * len(defined)
    running = 0.0
    for rank, index in enumerate(sorted(range(len(defined)), key=lambda i: defined[i])):
        running = max(running, min(1.0, (len(defined) - rank) * defined[index]))
        adjusted[index] = running
    return adjusted
