"""The tables of a report as CSV: units in the column names, text cells inert, the same bytes for the same numbers.

Rows out of results; nothing is computed that the report does not show.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import TYPE_CHECKING

from bench.report.denominators import group_by
from bench.report.escaping import csv_cell
from bench.report.notations import LETTERS
from bench.stats.contrast import PRIMARY
from bench.stats.counts import wilson
from bench.stats.denominators import GROUPINGS, by_syntax, counts
from bench.stats.usage import usage
from bench.wire.strict_json import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.report.run_data import RunData
    from bench.score.table import ResultRow
    from bench.stats.bootstrap import Interval
    from bench.stats.breakdowns import Breakdown
    from bench.stats.contrast_result import ContrastResult

SUMMARY_HEADER = (
    "task",
    "view",
    "group",
    "notation",
    "letter",
    "accuracy_share",
    "wilson95_low_share",
    "wilson95_high_share",
    "correct_per_dispatched_share",
    "correct_per_dispatched_upper_share",
    "planned_count",
    "dispatched_count",
    "terminal_count",
    "evaluable_count",
    "correct_count",
    "infrastructure_missing_count",
    "not_dispatched_count",
    "incomplete_count",
    "refusal_count",
    "families_available_count",
    "families_planned_count",
    "trials_with_usage_count",
    "input_tokens_sum",
    "output_tokens_sum",
    "reasoning_tokens_sum",
    "cached_input_tokens_sum",
    "total_tokens_sum",
    "tokens_per_correct",
    "truncation_rate_share",
    "retry_rate_share",
    "total_seconds_median_without_retry",
    "total_seconds_median_with_retry",
)
PAIRED_HEADER = (
    "role",
    "task",
    "view",
    "part",
    "contrast",
    "estimate_pp",
    "ci95_low_pp",
    "ci95_high_pp",
    "exact95_low_pp",
    "exact95_high_pp",
    "t95_low_pp",
    "t95_high_pp",
    "signflip_p",
    "holm_p",
    "families_count",
    "families_planned_count",
    "detectable_difference_pp",
    "verdict",
    "flags",
)
ERRORS_HEADER = (
    "task",
    "view",
    "notation",
    "lexical",
    "depth_count",
    "filler_count",
    "outcome",
    "reason",
    "diagnosis",
    "trials_count",
)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A CSV document with line feeds; every cell has passed ``csv_cell``."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    return buffer.getvalue()


def summary_csv(data: RunData) -> str:
    """One row per task, view, notation and group (all, regime, depth, filler, cell, kind of lookup)."""
    rows: list[tuple[object, ...]] = []
    for task, view in data.places:
        for cut in GROUPINGS:
            groups = group_by(data.at(task, view), cut)
            for group in sorted(groups, key=_natural):
                rows += [_summary_row(task, view, group, trials) for _, trials in by_syntax(groups[group])]
    return csv_text(SUMMARY_HEADER, rows)


def _natural(group: str) -> list[int | str]:
    """Sorts depth=16 behind depth=8."""
    _, _, value = group.partition("=")
    parts = value.split("x")
    return [int(part) for part in parts] if all(part.isdigit() for part in parts) else [0, value]


def _summary_row(task: str, view: str, group: str, trials: Sequence[ResultRow]) -> tuple[object, ...]:
    found = counts(trials)
    (used,) = usage(trials)
    tallies = (used.input_tokens, used.output_tokens, used.reasoning_tokens, used.cached_tokens, used.total_tokens)
    return (
        *(task, view, group, used.syntax, LETTERS.get(used.syntax, "")),
        found.accuracy,
        *(wilson(found.correct, found.evaluable) or (None, None)),
        *(found.correct_per_dispatched, found.correct_per_dispatched_upper),
        *(found.planned, found.dispatched, found.terminal, found.evaluable, found.correct),
        *(found.infrastructure_missing, found.not_dispatched, found.incomplete, found.refusal),
        *(found.families, found.families_planned, used.trials_with_usage),
        *(tally.total if tally.reported else None for tally in tallies),
        "NA" if used.tokens_per_correct is None else used.tokens_per_correct,
        *(used.truncation_rate, used.retry_rate),
        *(used.latency_without_retries.median_s, used.latency_with_retries.median_s),
    )


def paired_csv(data: RunData) -> str:
    """The primary comparison, its parts, and every other contrast."""
    rows: list[tuple[object, ...]] = []
    analysis = data.analysis
    if analysis.primary is not None:
        rows.append(_paired_row("primary", "all", analysis.primary))
    for (task, view), parts in analysis.breakdowns.items():
        rows += [_part_row(task, view, part) for part in parts]
    rows += [_paired_row("exploratory", "all", result) for result in analysis.contrasts]
    return csv_text(PAIRED_HEADER, rows)


def _paired_row(role: str, part: str, result: ContrastResult) -> tuple[object, ...]:
    return (
        *(role, result.task, result.view, part, result.contrast, result.estimate_pp),
        *_ends(result.ci95),
        *_ends(result.exact95),
        *_ends(result.t95),
        *(result.signflip_p, result.holm_p, result.families, result.families_planned, result.mde_pp),
        result.verdict,
        " ".join(result.flags),
    )


def _part_row(task: str, view: str, part: Breakdown) -> tuple[object, ...]:
    return (
        *("breakdown", task, view, part.label, PRIMARY.name, part.estimate_pp),
        *_ends(part.ci95),
        *(None, None, None, None),
        *(part.signflip_p, None, part.families, part.families_planned, part.mde_pp, "", " ".join(part.flags)),
    )


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low_pp, interval.high_pp)


def errors_csv(data: RunData) -> str:
    """Every result other than correct, counted by where it happened and what was diagnosed."""
    found: Counter[tuple[object, ...]] = Counter()
    for trial in data.trials:
        if trial.strict != 1:
            row = trial.row
            place = (row.task, row.view, row.syntax, row.lexical, row.depth, row.filler)
            found[*place, trial.outcome.value, trial.reason, _diagnosis(trial)] += 1
    rows = [(*key, number) for key, number in found.items()]
    rows.sort(
        key=lambda row: [(not isinstance(cell, int), cell if isinstance(cell, int) else 0, str(cell)) for cell in row]
    )
    return csv_text(ERRORS_HEADER, rows)


def _diagnosis(trial: ResultRow) -> str:
    return dumps(dict(sorted(trial.diagnosis.items()))) if trial.diagnosis else ""
