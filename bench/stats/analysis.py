"""The analysis of a run: a pure function of its trials and its protocol.

The form of ``analysis.json`` is in ``document``. No file is read or written here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.stats.breakdowns import Breakdown, breakdowns
from bench.stats.contrast import CHECKS, EXPLORATORY, PRIMARY, Selection
from bench.stats.contrast_result import ContrastResult, contrast_result
from bench.stats.counts import holm
from bench.stats.denominators import AccuracyRow, Counts, accuracies, by_task_and_view, counts
from bench.stats.paired import distinct
from bench.stats.settings import AnalysisSettings, settings_from
from bench.stats.usage import UsageRow, usage
from bench.stats.validity import ValidityRow, validity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.plan.records import Task, View
    from bench.score.table import ResultRow
    from bench.stats.contrast import Contrast

PRIMARY_SELECTION = Selection("scope_lookup", "after_close")


@dataclass(frozen=True, slots=True)
class RunState:
    """How far the run is, and what forbids a verdict."""

    counts: Counts
    provisional: bool
    stop_rule_met: bool
    infrastructure_missing_share: float
    infrastructure_missing_above_limit: bool
    synthetic: bool
    backends: tuple[str, ...]
    withheld_because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything the report prints. ``primary`` is ``None`` where T1 after_close was not planned under D and B."""

    state: RunState
    settings: AnalysisSettings
    primary: ContrastResult | None
    contrasts: tuple[ContrastResult, ...]
    breakdowns: Mapping[tuple[Task, View], tuple[Breakdown, ...]]
    validity: tuple[ValidityRow, ...]
    accuracies: tuple[AccuracyRow, ...]
    usage: tuple[UsageRow, ...]


def analyse(trials: Sequence[ResultRow], protocol: Mapping[str, object]) -> Analysis:
    """The analysis of all planned trials. Raises ``KeyError`` for a protocol that lacks a rule."""
    settings = settings_from(protocol)
    rows = distinct(trials)
    state = run_state(rows, settings)
    results = [
        result
        for part in by_task_and_view(rows)
        for result in _contrasts(part, settings=settings, withheld_because=state.withheld_because)
    ]
    checked = _checked_selection(rows)
    return Analysis(
        state=state,
        settings=settings,
        primary=next((result for result in results if _is_primary(result)), None),
        contrasts=tuple(result for result in results if not _is_primary(result)),
        breakdowns={
            (selection.task, selection.view): breakdowns(part, selection, PRIMARY, settings)
            for part in by_task_and_view(rows)
            for selection in (_selection(part),)
            if _planned(part, PRIMARY)
        },
        validity=() if checked is None else validity(rows, checked, PRIMARY, seed=settings.bootstrap_seed),
        accuracies=accuracies(rows),
        usage=usage(rows),
    )


def run_state(trials: Sequence[ResultRow], settings: AnalysisSettings) -> RunState:
    """How far the run is."""
    found = counts(trials)
    share = found.infrastructure_missing_share
    stop_rule_met = found.planned > 0 and found.terminal / found.planned >= settings.min_terminal_share
    above = share > settings.max_infrastructure_missing
    said = {
        "provisional: not every planned trial is terminal": found.terminal < found.planned,
        "below the stop rule": not stop_rule_met,
        f"infrastructure missing above {settings.max_infrastructure_missing:.0%}": above,
    }
    return RunState(
        counts=found,
        provisional=found.terminal < found.planned,
        stop_rule_met=stop_rule_met,
        infrastructure_missing_share=share,
        infrastructure_missing_above_limit=above,
        synthetic=any(trial.synthetic_mock for trial in trials),
        backends=tuple(sorted({trial.backend for trial in trials if trial.backend is not None})),
        withheld_because=tuple(reason for reason, holds in said.items() if holds),
    )


def _contrasts(
    part: Sequence[ResultRow], *, settings: AnalysisSettings, withheld_because: tuple[str, ...]
) -> list[ContrastResult]:
    """D-B, then the planned ones of the seven, then of the checks, each group with Holm's adjustment of its own."""
    selection = _selection(part)

    def result(contrast: Contrast) -> ContrastResult:
        return contrast_result(part, selection, contrast, settings=settings, withheld_because=withheld_because)

    first = [result(PRIMARY)] if _planned(part, PRIMARY) else []
    marked = [found if _is_primary(found) else _exploratory(found) for found in first]
    for group in (EXPLORATORY, CHECKS):
        marked += with_holm([_exploratory(result(contrast)) for contrast in group if _planned(part, contrast)])
    return marked


def with_holm(family: Sequence[ContrastResult]) -> list[ContrastResult]:
    """The contrasts with their adjusted p; an undefined p counts as 1 and is marked."""
    adjusted = holm([result.signflip_p for result in family])
    return [
        replace(result, holm_p=p, holm_undefined=result.signflip_p is None)
        for result, p in zip(family, adjusted, strict=True)
    ]


def _exploratory(result: ContrastResult) -> ContrastResult:
    return replace(result, flags=(*result.flags, "exploratory"))


def _is_primary(result: ContrastResult) -> bool:
    return result.contrast == PRIMARY.name and result.selection == PRIMARY_SELECTION


def _selection(part: Sequence[ResultRow]) -> Selection:
    return Selection(part[0].row.task, part[0].row.view)


def _planned(part: Sequence[ResultRow], contrast: Contrast) -> bool:
    return {contrast.plus, contrast.minus} <= {trial.row.syntax for trial in part}


def _checked_selection(rows: Sequence[ResultRow]) -> Selection | None:
    """The primary part if it was planned, else the first that was."""
    parts = [_selection(part) for part in by_task_and_view(rows) if _planned(part, PRIMARY)]
    return PRIMARY_SELECTION if PRIMARY_SELECTION in parts else next(iter(parts), None)
