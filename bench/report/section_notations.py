"""Sections 5 and 6: the five notations by accuracy, truncation, tokens and time; then by regime, depth and filler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.report.denominators import LEGEND, accuracy_table, group_by
from bench.report.document import Block, Code, Column, Figure, Heading, Table, say
from bench.report.formatting import seconds, share, whole
from bench.report.notations import labelled, titled
from bench.report.section_baselines import length_blocks, lenient_blocks, shortcut_blocks
from bench.report.section_primary import breakdown_table
from bench.stats.denominators import by_syntax

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.report.run_data import RunData
    from bench.score.table import ResultRow
    from bench.stats.usage import Latency, UsageRow

NOTATION = Column("notation", numeric=False)


def notation_blocks(data: RunData) -> list[Block]:
    """The blocks of section 5."""
    blocks: list[Block] = [say(LEGEND)]
    for task, view in data.places:
        trials = data.at(task, view)
        blocks += [
            Heading(3, titled(task, view)),
            accuracy_table(f"Accuracy: {titled(task, view)}", (NOTATION,), _by_notation(trials)),
            _usage(f"Tokens and truncation: {titled(task, view)}", _usage_rows(data, task, view)),
            _times(f"Seconds: {titled(task, view)}", _usage_rows(data, task, view)),
        ]
    return [
        *blocks,
        say(
            "Tokens as the server reports them; NA where it does not. Output − reasoning is given only where both are "
            "known and is an estimate of the answer's length, not a count of it. Tokens per correct result divides all "
            "reported tokens by the number of correct answers and is NA without any. Times depend on network, load, "
            "caches and length; they measure no internal effort. Trials with and without a retry are kept apart."
        ),
        Figure("cost-against-accuracy", "Mean tokens of a trial against accuracy, by notation."),
        *shortcut_blocks(data),
        *length_blocks(data),
        *lenient_blocks(data),
    ]


def _by_notation(trials: Sequence[ResultRow]) -> list[tuple[tuple[str], list[ResultRow]]]:
    return [((labelled(syntax),), group) for syntax, group in by_syntax(trials)]


def _usage_rows(data: RunData, task: str, view: str) -> list[UsageRow]:
    own = [row for row in data.analysis.usage if (row.task, row.view) == (task, view)]
    return sorted(own, key=lambda row: labelled(row.syntax))


def _usage(caption: str, rows: Sequence[UsageRow]) -> Table:
    columns = (
        NOTATION,
        Column("trials with usage"),
        Column("input, mean"),
        Column("cached, mean"),
        Column("output, mean"),
        Column("reasoning, mean"),
        Column("output − reasoning, mean"),
        Column("all tokens, sum"),
        Column("tokens per correct"),
        Column("truncated"),
        Column("retried"),
    )
    cells = tuple(
        (
            labelled(row.syntax),
            f"{row.trials_with_usage:,}",
            whole(row.input_tokens.mean),
            whole(row.cached_tokens.mean),
            whole(row.output_tokens.mean),
            whole(row.reasoning_tokens.mean),
            whole(row.non_reasoning_output.mean),
            whole(row.total_tokens.total if row.total_tokens.reported else None),
            whole(row.tokens_per_correct),
            share(row.truncation_rate),
            share(row.retry_rate),
        )
        for row in rows
    )
    return Table(caption, columns, cells)


def _times(caption: str, rows: Sequence[UsageRow]) -> Table:
    columns = (
        NOTATION,
        Column("trials without retry"),
        Column("median"),
        Column("90th percentile"),
        Column("trials with retry"),
        Column("median "),
        Column("90th percentile "),
    )
    cells = tuple(
        (labelled(row.syntax), *_latency(row.latency_without_retries), *_latency(row.latency_with_retries))
        for row in rows
    )
    return Table(caption, columns, cells)


def _latency(found: Latency) -> tuple[str, str, str]:
    return (f"{found.trials:,}", seconds(found.median_s), seconds(found.p90_s))


def breakdown_blocks(data: RunData) -> list[Block]:
    """The blocks of section 6: everything for the main task, regimes and a figure for the others."""
    blocks: list[Block] = [
        say(
            "All breakdowns are exploratory. The columns are explained in section 5. The main task is broken down in "
            "full; for the others depth and filler stand in the figures and, like every cell, in ",
            Code("summary.csv"),
            ".",
        )
    ]
    for place in data.places:
        parts = _levels(data, *place)
        blocks += [Heading(3, titled(*place)), *(parts if place == data.main_place else parts[:2])]
    return [*blocks, *_robustness(data)]


def _levels(data: RunData, task: str, view: str) -> list[Block]:
    trials = data.at(task, view)
    cuts: tuple[tuple[str, Callable[[ResultRow], object]], ...] = (
        ("lexical regime", lambda trial: trial.row.lexical),
        ("depth", lambda trial: trial.row.depth),
        ("filler", lambda trial: trial.row.filler),
        ("kind of lookup", lambda trial: trial.row.lookup_kind),
    )
    tables: list[Block] = []
    for title, level_of in cuts:
        groups = group_by(trials, level_of)
        rows = [
            ((str(level), *name), group)
            for level in sorted(groups, key=_rank)
            for name, group in _by_notation(groups[level])
        ]
        tables.append(accuracy_table(f"By {title}: {titled(task, view)}", (Column(title, False), NOTATION), rows))
    figure = Figure(f"accuracy-{task}-{view}", f"Accuracy by depth and by filler: {titled(task, view)}.")
    return [tables[0], figure, *tables[1:]]


def _rank(level: object) -> tuple[int, str]:
    return (level, "") if isinstance(level, int) else (0, str(level))


def _robustness(data: RunData) -> list[Block]:
    parts = data.parts(data.main_place)
    blocks: list[Block] = []
    for caption, starts in (
        ("D − B by depth, filler and cell", ("depth=", "filler=", "cell=")),
        ("D − B with one cell left out", ("without cell",)),
        ("D − B with one example set left out", ("without example set",)),
    ):
        chosen = [part for part in parts if part.label.startswith(starts)]
        if chosen:
            blocks.append(breakdown_table(f"{caption}: {titled(*data.main_place)}", chosen))
    return [Heading(3, "How the comparison depends on its parts"), *blocks] if blocks else []
