"""Tables of accuracy that always carry all denominators of section 10.3.

Grouping and layout; the counting itself is ``bench.stats.denominators``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from bench.report.document import Column, Line, Table
from bench.report.formatting import share, share_range
from bench.stats.counts import wilson
from bench.stats.denominators import counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bench.score.table import ResultRow
    from bench.stats.denominators import Counts

Key = TypeVar("Key")

ACCURACY_COLUMNS = (
    Column("accuracy"),
    Column("95 % Wilson"),
    Column("correct / dispatched"),
    Column("upper bound"),
)
COUNT_COLUMNS = (
    Column("planned"),
    Column("dispatched"),
    Column("terminal"),
    Column("evaluable"),
    Column("correct"),
    Column("infra. missing"),
    Column("not dispatched"),
    Column("incomplete"),
    Column("refusal"),
    Column("families"),
)
LEGEND = (
    "How to read the columns: planned ≥ dispatched (something was sent) ≥ terminal (a final record exists). Evaluable: "
    "the model's behaviour can be judged. Accuracy = correct / evaluable, with Wilson's 95 % interval, which treats "
    "trials as independent and so is too narrow where a family has several trials. Infra. missing: dispatched without "
    "an evaluable result; the upper bound of correct / dispatched takes all of these for correct. "
    "Incomplete and refusal are evaluable and count as not correct. Families: those with every planned trial of the "
    "row evaluable / planned."
)


def group_by(trials: Iterable[ResultRow], key: Callable[[ResultRow], Key]) -> dict[Key, list[ResultRow]]:
    """Trials by key, in order of first appearance."""
    groups: dict[Key, list[ResultRow]] = {}
    for trial in trials:
        groups.setdefault(key(trial), []).append(trial)
    return groups


def accuracy_table(
    caption: str, labels: tuple[Column, ...], groups: Iterable[tuple[Line, Sequence[ResultRow]]]
) -> Table:
    """One row per group: its labels, accuracy and every denominator."""
    rows = tuple((*label, *accuracy_cells(trials)) for label, trials in groups)
    return Table(caption, (*labels, *ACCURACY_COLUMNS, *COUNT_COLUMNS), rows)


def accuracy_cells(trials: Sequence[ResultRow]) -> Line:
    """The cells of ``ACCURACY_COLUMNS`` and ``COUNT_COLUMNS``."""
    found = counts(trials)
    return (
        share(found.accuracy),
        share_range(wilson(found.correct, found.evaluable)),
        share(found.correct_per_dispatched),
        share(found.correct_per_dispatched_upper),
        *count_cells(found),
    )


def count_cells(found: Counts) -> Line:
    """The cells of ``COUNT_COLUMNS``."""
    numbers = (
        found.planned,
        found.dispatched,
        found.terminal,
        found.evaluable,
        found.correct,
        found.infrastructure_missing,
        found.not_dispatched,
        found.incomplete,
        found.refusal,
    )
    return (*(f"{number:,}" for number in numbers), f"{found.families} / {found.families_planned}")
