"""Counts and proportions with their denominators (specification, 10.3). Nothing paired here."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.plan.records import ALL_SYNTAXES
from bench.score.outcome import Outcome
from bench.stats.counts import wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bench.plan.records import Syntax, Task, View
    from bench.score.table import ResultRow

INFRASTRUCTURE = frozenset(
    {Outcome.API_REJECTED, Outcome.TRANSPORT_FAILURE, Outcome.AMBIGUOUS_OUTCOME, Outcome.DECODE_FAILURE}
)


@dataclass(frozen=True, slots=True)
class Counts:
    """Trials of a group; planned = dispatched + not_dispatched, dispatched = evaluable + infrastructure_missing.

    ``families`` counts those whose every planned trial of the group is evaluable.
    """

    planned: int
    dispatched: int
    terminal: int
    evaluable: int
    correct: int
    infrastructure_missing: int
    not_dispatched: int
    incomplete: int
    refusal: int
    ambiguous: int
    families: int
    families_planned: int

    @property
    def accuracy(self) -> float | None:
        """Correct over model-evaluable; ``None`` if nothing is evaluable."""
        return self.correct / self.evaluable if self.evaluable else None

    @property
    def correct_per_dispatched(self) -> float | None:
        """The conservative success rate of the operation; ``None`` if nothing was sent."""
        return self.correct / self.dispatched if self.dispatched else None

    @property
    def correct_per_dispatched_upper(self) -> float | None:
        """The same if every trial that was sent and has no evaluable outcome were correct."""
        unresolved = self.dispatched - self.evaluable
        return (self.correct + unresolved) / self.dispatched if self.dispatched else None

    @property
    def infrastructure_missing_share(self) -> float:
        """Infrastructure-missing over planned trials; 0 for an empty group."""
        return self.infrastructure_missing / self.planned if self.planned else 0.0


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """One notation in one task and view, within a group such as ``all``, ``depth=8`` or ``kind=inner``."""

    task: Task
    view: View
    syntax: Syntax
    group: str
    counts: Counts
    accuracy: float | None
    wilson: tuple[float, float] | None
    correct_per_dispatched: float | None
    correct_per_dispatched_upper: float | None


def counts(trials: Iterable[ResultRow]) -> Counts:
    """The denominators of a group of trials."""
    rows = list(trials)
    outcomes = [trial.outcome for trial in rows]
    families: dict[str, bool] = {}
    for trial in rows:
        families[trial.row.family_id] = families.get(trial.row.family_id, True) and trial.outcome.evaluable
    return Counts(
        planned=len(rows),
        dispatched=sum(trial.dispatched for trial in rows),
        terminal=sum(trial.terminal for trial in rows),
        evaluable=sum(outcome.evaluable for outcome in outcomes),
        correct=outcomes.count(Outcome.CORRECT),
        infrastructure_missing=sum(outcome in INFRASTRUCTURE for outcome in outcomes),
        not_dispatched=outcomes.count(Outcome.NOT_DISPATCHED),
        incomplete=outcomes.count(Outcome.INCOMPLETE_OUTPUT),
        refusal=outcomes.count(Outcome.REFUSAL),
        ambiguous=outcomes.count(Outcome.AMBIGUOUS_OUTCOME),
        families=sum(families.values()),
        families_planned=len(families),
    )


GROUPINGS: tuple[Callable[[ResultRow], str], ...] = (
    lambda _: "all",
    lambda trial: f"lexical={trial.row.lexical}",
    lambda trial: f"depth={trial.row.depth}",
    lambda trial: f"filler={trial.row.filler}",
    lambda trial: f"cell={trial.row.depth}x{trial.row.filler}",
    lambda trial: f"kind={trial.row.lookup_kind}",
)


def accuracies(trials: Sequence[ResultRow]) -> tuple[AccuracyRow, ...]:
    """A row per task, view, grouping, group and notation, groups in rising order of depth and filler."""
    ordered = sorted(trials, key=lambda t: (t.row.depth, t.row.filler, t.row.lexical, t.row.lookup_kind))
    return tuple(
        row for part in by_task_and_view(ordered) for grouping in GROUPINGS for row in _grouped(part, grouping)
    )


def by_task_and_view(trials: Iterable[ResultRow]) -> list[list[ResultRow]]:
    """The trials split by task and view, tasks in the order T1, T2, T3."""
    order = ("scope_lookup", "active_stack", "ast_to_source")
    parts: dict[tuple[int, str], list[ResultRow]] = defaultdict(list)
    for trial in trials:
        parts[order.index(trial.row.task), trial.row.view].append(trial)
    return [parts[key] for key in sorted(parts)]


def by_syntax(trials: Iterable[ResultRow]) -> list[tuple[Syntax, list[ResultRow]]]:
    """The trials of each notation that occurs, in the order A to F."""
    parts: dict[Syntax, list[ResultRow]] = defaultdict(list)
    for trial in trials:
        parts[trial.row.syntax].append(trial)
    return [(syntax, parts[syntax]) for syntax in ALL_SYNTAXES if syntax in parts]


def _grouped(trials: Sequence[ResultRow], grouping: Callable[[ResultRow], str]) -> Iterator[AccuracyRow]:
    groups: dict[str, list[ResultRow]] = defaultdict(list)
    for trial in trials:
        groups[grouping(trial)].append(trial)
    for name, members in groups.items():
        for syntax, rows in by_syntax(members):
            found = counts(rows)
            yield AccuracyRow(
                task=rows[0].row.task,
                view=rows[0].row.view,
                syntax=syntax,
                group=name,
                counts=found,
                accuracy=found.accuracy,
                wilson=wilson(found.correct, found.evaluable),
                correct_per_dispatched=found.correct_per_dispatched,
                correct_per_dispatched_upper=found.correct_per_dispatched_upper,
            )
