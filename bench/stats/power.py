"""What a run of a given size could have seen: smallest detectable difference and families needed, by simulation.

Model: every cell of the planned run draws its families' deviations from the pilot's pooled within-stratum deviations
(blown up by sqrt(m/(m-1)), so that their variance is unbiased); the true difference is added; a two-sided 5 %
stratified t test decides. The variance is taken not to change with the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, stdtrit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bench.stats.paired import PairedSample

SIMULATIONS = 2000
SIMULATED_ELEMENTS = 1 << 21
ALPHA, POWER = 0.05, 0.80
MAX_FAMILIES_PER_CELL = 4096


@dataclass(frozen=True, slots=True)
class Deviations:
    """Pooled deviations of a pilot, -2 to 2. ``assumed``: no family differed, so one each way was put in."""

    values: NDArray[np.float64]
    assumed: bool


def deviations(pilot: PairedSample) -> Deviations | None:
    """Within-stratum deviations over all strata of two families or more; ``None`` if there is none.

    A pilot without any spread says nothing of variance: then one family of +1/2 and one of -1/2 are added to it.
    """
    parts = [
        (np.array(s.units) - sum(s.units) / len(s.units)) / pilot.unit * sqrt(len(s.units) / (len(s.units) - 1))
        for s in pilot.strata
        if len(s.units) > 1
    ]
    if not parts:
        return None
    pooled = np.concatenate(parts)
    if pooled.any():
        return Deviations(pooled, assumed=False)
    return Deviations(np.append(pooled, [0.5, -0.5]), assumed=True)


def mde_pp(pool: Deviations, *, cells: int, families_per_cell: int, seed: int) -> float | None:
    """The smallest difference, in pp, that is detected with 80 % power; ``None`` for fewer than two families a cell.

    With e the error of a simulated run and SE its standard error, a difference d is detected if d + e > t SE; so the
    answer is the 80 % quantile of t SE - e, taken in the worse of the two directions.
    """
    if families_per_cell < 2:
        return None
    errors, standard_errors = _simulated(pool.values, cells, families_per_cell, np.random.default_rng(seed % 2**64))
    critical = float(stdtrit(cells * (families_per_cell - 1), 1 - ALPHA / 2))
    needed = [np.quantile(critical * standard_errors + sign * errors, POWER) for sign in (-1, 1)]
    return 100 * float(max(needed))


def families_needed(pool: Deviations, *, cells: int, wanted_pp: float, seed: int) -> int | None:
    """The fewest families per cell that detect ``wanted_pp``; ``None`` if ``MAX_FAMILIES_PER_CELL`` do not."""

    def detects(families: int) -> bool:
        found = mde_pp(pool, cells=cells, families_per_cell=families, seed=seed)
        return found is not None and found <= wanted_pp

    enough = 2
    while not detects(enough):
        if enough >= MAX_FAMILIES_PER_CELL:
            return None
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        too_few, enough = (too_few, middle) if detects(middle) else (middle, enough)
    return enough


def mde_from_discordance_pp(discordance: float, *, families: int, correlation: float = 0.3) -> float:
    """The textbook answer where no pilot was run, for two regimes of one pair each, without strata.

    Smallest d with d = 2.80 sqrt((D - d^2) (1 + r) / 2 / N): D the share of discordant pairs, r the correlation of the
    two regimes' differences within a family, N families.
    """
    z = float(ndtri(1 - ALPHA / 2) + ndtri(POWER))
    factor = z * z * (1 + correlation) / 2 / families
    return 100 * sqrt(factor * discordance / (1 + factor))


def _simulated(
    pool: NDArray[np.float64], cells: int, families: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Error and standard error of each simulated run, batch by batch so that memory stays bounded."""
    rows = max(1, SIMULATED_ELEMENTS // (cells * families))
    errors, standard_errors = [], []
    for start in range(0, SIMULATIONS, rows):
        size = (min(rows, SIMULATIONS - start), cells, families)
        drawn = pool[rng.integers(0, len(pool), size)]
        errors.append(drawn.mean(axis=(1, 2)))
        standard_errors.append(np.sqrt(drawn.var(axis=2, ddof=1).sum(axis=1) / families) / cells)
    return np.concatenate(errors), np.concatenate(standard_errors)
