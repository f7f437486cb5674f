"""Reports that do not show who is ahead: of an unfinished confirmatory run, and of a pilot for choosing difficulty.

Both show counts, missingness, tokens and accuracy pooled over notations; the pilot view adds the notations without
their names, in an order drawn by seed. No contrast, no name beside a number.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bench.data.java_random import JavaRandom
from bench.report.compose import SECTION_TITLES, report_title
from bench.report.denominators import COUNT_COLUMNS, LEGEND, accuracy_table, count_cells, group_by
from bench.report.document import Block, Code, Column, Document, Heading, Strong, Table, say
from bench.report.formatting import share, whole
from bench.report.notations import titled
from bench.report.section_status import MEASURED, caveats, condition_blocks, status_line
from bench.score.outcome import Outcome
from bench.stats.denominators import counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.report.run_data import RunData
    from bench.score.table import ResultRow

WITHHELD = "Withheld until the stop rule is met: this run is confirmatory and unfinished, and nobody looks early."


def blinded_report(data: RunData) -> Document:
    """The report of a confirmatory run whose stop rule is not met: ten sections, no notation beside any number."""
    shown: dict[int, list[Block]] = {
        0: [say(Strong(WITHHELD)), say(MEASURED), *caveats(data), *_pooled(data)],
        1: condition_blocks(data),
        2: [_counts(data), _outcomes(data)],
    }
    blocks: list[Block] = [Heading(1, report_title(data))]
    for at, title in enumerate(SECTION_TITLES):
        blocks += [Heading(2, title), *shown.get(at, [say(WITHHELD)])]
    return Document(f"BLINDED. {status_line(data)}", tuple(blocks))


def blind_pilot_view(data: RunData, *, order_seed: int) -> Document:
    """Difficulty without names: pooled accuracy by cell, failures common to all, notations unlabelled."""
    blocks: list[Block] = [
        Heading(1, f"Blind view. {report_title(data)}"),
        say(
            "For choosing difficulty without seeing which notation is ahead (7.3a): look for ceilings, floors and "
            "truncation, not for winners. Notations stand without names, in an order drawn by seed; which is which can "
            "be read from the files, and looking at the full report of a pilot is noted in events."
        ),
        *caveats(data),
        *_pooled(data),
        _counts(data),
        _outcomes(data),
        say(LEGEND),
    ]
    for task, view in data.places:
        blocks += _difficulty(data.at(task, view), titled(task, view), order_seed)
    return Document(f"BLIND VIEW. {status_line(data)}", tuple(blocks))


def _pooled(data: RunData) -> list[Block]:
    """Accuracy and tokens over all notations together."""
    columns = (
        Column("task and view", numeric=False),
        Column("pooled accuracy"),
        Column("truncated"),
        Column("trials with usage"),
        Column("all tokens, sum"),
        Column("tokens of a trial, mean"),
    )
    rows = []
    for task, view in data.places:
        trials = data.at(task, view)
        found = counts(trials)
        tokens = [trial.total_tokens for trial in trials if trial.total_tokens is not None]
        cut = sum(trial.outcome is Outcome.INCOMPLETE_OUTPUT for trial in trials)
        mean = sum(tokens) / len(tokens) if tokens else None
        rows.append(
            (
                titled(task, view),
                share(found.accuracy),
                share(cut / found.terminal if found.terminal else None),
                f"{len(tokens):,}",
                f"{sum(tokens):,}",
                whole(mean),
            )
        )
    return [Table("Pooled over all notations", columns, tuple(rows))]


def _counts(data: RunData) -> Table:
    rows = tuple((titled(task, view), *count_cells(counts(data.at(task, view)))) for task, view in data.places)
    return Table("Trials, all notations pooled", (Column("task and view", numeric=False), *COUNT_COLUMNS), rows)


def _outcomes(data: RunData) -> Table:
    found = Counter(trial.outcome.value for trial in data.trials)
    rows = tuple((Code(name), f"{number:,}") for name, number in sorted(found.items()))
    return Table("Outcomes, all notations pooled", (Column("outcome", numeric=False), Column("trials")), rows)


def _difficulty(trials: Sequence[ResultRow], title: str, order_seed: int) -> list[Block]:
    cells = group_by(trials, lambda trial: (trial.row.depth, trial.row.filler))
    by_cell = accuracy_table(
        f"By cell, notations pooled: {title}",
        (Column("depth"), Column("filler")),
        [((str(depth), str(filler)), group) for (depth, filler), group in sorted(cells.items())],
    )
    unnamed = accuracy_table(
        f"Notations without names: {title}",
        (Column("notation", numeric=False),),
        [((f"notation {at}",), group) for at, group in enumerate(_shuffled(trials, order_seed), 1)],
    )
    return [Heading(2, title), by_cell, unnamed]


def _shuffled(trials: Sequence[ResultRow], seed: int) -> list[list[ResultRow]]:
    groups = group_by(trials, lambda trial: trial.row.syntax)
    order = sorted(groups)
    JavaRandom(seed).shuffle(order)
    return [groups[syntax] for syntax in order]
