"""The numbers of each figure: what is drawn, and the same as a CSV table.

Selection and arrangement; drawing is ``figures``, statistics are ``bench.stats``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from bench.report.denominators import group_by
from bench.report.figures import Cost, CostMap, Drawing, Drift, Estimate, Forest, Level, Levels, Slice
from bench.report.notations import labelled, lettered_contrast, titled
from bench.stats.contrast import PRIMARY
from bench.stats.counts import wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.report.run_data import RunData
    from bench.score.table import ResultRow
    from bench.stats.contrast_result import ContrastResult

SLICES = 8


@dataclass(frozen=True, slots=True)
class FigureData:
    """A figure's name, its drawing, and its numbers as a header and rows."""

    name: str
    drawing: Drawing
    header: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


def figure_data(data: RunData) -> list[FigureData]:
    """All figures of a report, by the names the sections refer to."""
    found = [_forest(data, *place) for place in data.places]
    found += [_levels(data, *place) for place in data.places]
    return [*found, _cost(data), _drift(data)]


def _forest(data: RunData, task: str, view: str) -> FigureData:
    results = [row for row in data.analysis.contrasts if (row.task, row.view) == (task, view)]
    primary = data.analysis.primary
    if primary is not None and (primary.task, primary.view) == (task, view):
        results = [primary, *results]
    rows = tuple(
        (
            result.contrast,
            result.estimate_pp,
            result.ci95.low_pp if result.ci95 else None,
            result.ci95.high_pp if result.ci95 else None,
            result.families,
            result.families_planned,
        )
        for result in results
    )
    header = ("contrast", "estimate_pp", "ci95_low_pp", "ci95_high_pp", "families_count", "families_planned_count")
    drawing = Forest([_estimate(result, result is primary) for result in results], data.conditions.smallest_effect_pp)
    return FigureData(f"contrasts-{task}-{view}", drawing, header, rows)


def _estimate(result: ContrastResult, primary: bool) -> Estimate:  # noqa: FBT001  a fact about the row, no switch
    low, high = (result.ci95.low_pp, result.ci95.high_pp) if result.ci95 else (None, None)
    role = " (primary)" if primary else " (as primary)" if result.contrast == PRIMARY.name else ""
    return Estimate(lettered_contrast(result.contrast) + role, result.estimate_pp, low, high, primary)


def _levels(data: RunData, task: str, view: str) -> FigureData:
    trials = data.at(task, view)
    by_depth = _level_rows(trials, lambda trial: trial.row.depth)
    by_filler = _level_rows(trials, lambda trial: trial.row.filler)
    rows = tuple(
        (factor, point.level, point.syntax, point.accuracy, point.low, point.high)
        for factor, points in (("depth", by_depth), ("filler", by_filler))
        for point in points
    )
    header = ("factor", "level_count", "notation", "accuracy_share", "wilson95_low_share", "wilson95_high_share")
    return FigureData(f"accuracy-{task}-{view}", Levels(by_depth, by_filler), header, rows)


def _level_rows(trials: Sequence[ResultRow], level: Callable[[ResultRow], int]) -> list[Level]:
    groups = group_by(trials, lambda trial: (labelled(trial.row.syntax), level(trial), trial.row.syntax))
    return [Level(syntax, at, *_accuracy(group)) for (_, at, syntax), group in sorted(groups.items())]


def _accuracy(trials: Sequence[ResultRow]) -> tuple[float | None, float | None, float | None]:
    """Accuracy and its Wilson interval, each None without an evaluable trial."""
    judged = [trial.strict for trial in trials if trial.strict is not None]
    bounds = wilson(sum(judged), len(judged))
    return (None, None, None) if bounds is None else (sum(judged) / len(judged), *bounds)


def _cost(data: RunData) -> FigureData:
    points = []
    for task, view in data.places:
        groups = group_by(data.at(task, view), lambda trial: trial.row.syntax)
        for syntax, trials in sorted(groups.items(), key=lambda item: labelled(item[0])):
            tokens = [trial.total_tokens for trial in trials if trial.total_tokens is not None]
            mean = sum(tokens) / len(tokens) if tokens else None
            points.append(Cost(titled(task, view), syntax, mean, *_accuracy(trials)))
    header = (
        "task_and_view",
        "notation",
        "mean_total_tokens",
        "accuracy_share",
        "wilson95_low_share",
        "wilson95_high_share",
    )
    rows = tuple(
        (point.panel, point.syntax, point.tokens_mean, point.accuracy, point.low, point.high) for point in points
    )
    return FigureData("cost-against-accuracy", CostMap(points), header, rows)


def _drift(data: RunData) -> FigureData:
    trials = sorted(data.at(*data.main_place), key=lambda trial: trial.row.position)
    slices = [_slice(part) for part in _split(trials)]
    header = (
        "first_position",
        "last_position",
        f"{PRIMARY.plus}_accuracy_share",
        f"{PRIMARY.minus}_accuracy_share",
        "pooled_accuracy_share",
    )
    rows = tuple((part.first_position, part.last_position, part.plus, part.minus, part.pooled) for part in slices)
    return FigureData("drift", Drift(slices, PRIMARY.plus, PRIMARY.minus), header, rows)


def _split(trials: Sequence[ResultRow]) -> list[Sequence[ResultRow]]:
    parts = min(SLICES, len(trials))
    edges = [len(trials) * at // parts for at in range(parts + 1)] if parts else []
    return [trials[start:end] for start, end in pairwise(edges)]


def _slice(trials: Sequence[ResultRow]) -> Slice:
    plus = [trial for trial in trials if trial.row.syntax == PRIMARY.plus]
    minus = [trial for trial in trials if trial.row.syntax == PRIMARY.minus]
    return Slice(
        trials[0].row.position,
        trials[-1].row.position,
        _accuracy(plus)[0],
        _accuracy(minus)[0],
        _accuracy(trials)[0],
    )
