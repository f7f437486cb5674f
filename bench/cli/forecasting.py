"""The forecast from a pilot, as lines for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.plan.plan_files import Plan
from bench.score.trials import load_trials
from bench.stats.forecast import FAMILIES_PER_CELL, WANTED_PP, power_report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bench.stats.forecast import Cost, PowerReport


def forecast_lines(run_dir: Path, families_per_cell: Sequence[int], *, wanted_pp: Sequence[int]) -> Iterator[str]:
    """What each size detects and takes, and what each wanted difference needs; empty sequences: the usual ones.

    Raises:
        PowerError: the pilot has too little to forecast from.
    """
    report = power_report(
        load_trials(run_dir),
        Plan.open(run_dir, verify=False).protocol,
        families_per_cell=families_per_cell or FAMILIES_PER_CELL,
        wanted_pp=[float(pp) for pp in wanted_pp] or WANTED_PP,
    )
    yield from _head(report)
    for size in report.sizes:
        detects = "too few to say" if size.mde_pp is None else f"detects {size.mde_pp:.1f} pp"
        yield f"{size.families_per_cell:4d} families per cell ({size.families}): {detects}; {_cost(size.cost)}"
    for wanted in report.wanted:
        if wanted.families_per_cell is None or wanted.cost is None:
            yield f"{wanted.wanted_pp:4g} pp: more families than this forecast tries"
        else:
            needs = f"{wanted.families_per_cell} families per cell ({wanted.families})"
            yield f"{wanted.wanted_pp:4g} pp: needs {needs}; {_cost(wanted.cost)}"


def _head(report: PowerReport) -> Iterator[str]:
    yield f"pilot: {report.pilot_families} families; forecast for {report.cells} cells; 80 % power at 5 %, two-sided"
    if report.assumed_spread:
        yield "no family of the pilot differed between the two notations: one each way was assumed"


def _cost(cost: Cost) -> str:
    tokens = "tokens unknown" if cost.tokens is None else f"{cost.tokens:,} tokens"
    return f"{cost.trials:,} trials, {tokens}, {cost.hours:.1f} h"
