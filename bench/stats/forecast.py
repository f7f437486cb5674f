"""What a run of another size would detect and cost, from the trials of a pilot.

A forecast of requests, tokens and hours, never a price; nothing is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.stats.analysis import PRIMARY_SELECTION
from bench.stats.contrast import PRIMARY
from bench.stats.paired import paired_sample
from bench.stats.power import Deviations, deviations, families_needed, mde_pp
from bench.stats.settings import settings_from

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.score.table import ResultRow

FAMILIES_PER_CELL = (8, 16, 32, 64)
WANTED_PP = (2.0, 3.0, 5.0, 10.0)
REQUESTS_PER_TRIAL = 2
"""Each trial is counted once and generated once; both pass the request limit."""


class PowerError(Exception):
    """A pilot from which nothing can be forecast; the message says what it lacks."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Generations, tokens (``None`` where the pilot knows no usage) and hours under the run's limits."""

    trials: int
    tokens: int | None
    hours: float


@dataclass(frozen=True, slots=True)
class SizeRow:
    """A number of families per cell, what it detects with 80 % power at 5 %, and what it costs."""

    families_per_cell: int
    families: int
    mde_pp: float | None
    cost: Cost


@dataclass(frozen=True, slots=True)
class WantedRow:
    """A wanted difference, the fewest families per cell that detect it (``None``: too many), and their cost."""

    wanted_pp: float
    families_per_cell: int | None
    families: int | None
    cost: Cost | None


@dataclass(frozen=True, slots=True)
class PowerReport:
    """The forecast for the primary contrast. ``assumed_spread``: the pilot had none, see ``power.deviations``."""

    cells: int
    pilot_families: int
    assumed_spread: bool
    tokens_per_trial: float | None
    seconds_per_trial: float | None
    sizes: tuple[SizeRow, ...]
    wanted: tuple[WantedRow, ...]


@dataclass(frozen=True, slots=True)
class Rates:
    """What one trial of the pilot took, and how fast the run may go."""

    trials_per_family: float
    tokens_per_trial: float | None
    seconds_per_trial: float | None
    max_rpm: int
    max_tpm: int
    concurrency: int

    def cost(self, families: int) -> Cost:
        """The cost of that many families; hours by whichever limit binds."""
        trials = round(families * self.trials_per_family)
        tokens = None if self.tokens_per_trial is None else round(trials * self.tokens_per_trial)
        minutes = [REQUESTS_PER_TRIAL * trials / self.max_rpm, (tokens or 0) / self.max_tpm]
        if self.seconds_per_trial is not None:
            minutes.append(trials * self.seconds_per_trial / self.concurrency / 60)
        return Cost(trials, tokens, max(minutes) / 60)


def power_report(
    trials: Sequence[ResultRow],
    protocol: Mapping[str, Any],
    *,
    cells: int | None = None,
    families_per_cell: Sequence[int] = FAMILIES_PER_CELL,
    wanted_pp: Sequence[float] = WANTED_PP,
) -> PowerReport:
    """The forecast; ``cells`` defaults to the pilot's own number.

    Raises:
        PowerError: the pilot has no stratum with two available families under both notations of the primary contrast.
    """
    pilot = [trial for trial in trials if PRIMARY_SELECTION.admits(trial)]
    sample = paired_sample(pilot, PRIMARY_SELECTION, PRIMARY)
    pool = deviations(sample)
    if pool is None:
        raise PowerError(
            "the pilot has no cell with two finished families of scope_lookup after_close under named_end and "
            "generic_end; run more of it first"
        )
    seed = settings_from(protocol).bootstrap_seed
    count = cells or len(sample.strata)
    rates = _rates(pilot, sample.planned, protocol["config"]["limits"])
    return PowerReport(
        cells=count,
        pilot_families=sample.families,
        assumed_spread=pool.assumed,
        tokens_per_trial=rates.tokens_per_trial,
        seconds_per_trial=rates.seconds_per_trial,
        sizes=tuple(_size_row(pool, rates, cells=count, families=m, seed=seed) for m in families_per_cell),
        wanted=tuple(_wanted_row(pool, rates, cells=count, wanted_pp=pp, seed=seed) for pp in wanted_pp),
    )


def _size_row(pool: Deviations, rates: Rates, *, cells: int, families: int, seed: int) -> SizeRow:
    detectable = mde_pp(pool, cells=cells, families_per_cell=families, seed=seed)
    return SizeRow(families, cells * families, detectable, rates.cost(cells * families))


def _wanted_row(pool: Deviations, rates: Rates, *, cells: int, wanted_pp: float, seed: int) -> WantedRow:
    needed = families_needed(pool, cells=cells, wanted_pp=wanted_pp, seed=seed)
    if needed is None:
        return WantedRow(wanted_pp, None, None, None)
    return WantedRow(wanted_pp, needed, cells * needed, rates.cost(cells * needed))


def _rates(pilot: Sequence[ResultRow], families: int, limits: Mapping[str, int]) -> Rates:
    return Rates(
        trials_per_family=len(pilot) / families,
        tokens_per_trial=_mean([trial.total_tokens for trial in pilot if trial.total_tokens is not None]),
        seconds_per_trial=_mean([trial.total_s for trial in pilot if trial.total_s is not None]),
        max_rpm=limits["max_rpm"],
        max_tpm=limits["max_tpm"],
        concurrency=limits["concurrency"],
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
