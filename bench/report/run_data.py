"""Everything a report is written from, as one value. ``load`` fills it from the files; nothing is decided here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bench.plan.records import ScheduleRow
    from bench.report.conditions import Conditions
    from bench.report.states import RunKind
    from bench.score.table import ResultRow
    from bench.stats.analysis import Analysis
    from bench.stats.breakdowns import Breakdown

PRIMARY_TASK, PRIMARY_VIEW = "scope_lookup", "after_close"


@dataclass(frozen=True, slots=True)
class RunData:
    """A run as its report sees it. ``expected`` gives right answers as text by trial id."""

    run_dir: Path
    conditions: Conditions
    trials: Sequence[ResultRow]
    analysis: Analysis
    audit: Mapping[str, object]
    events: Sequence[Mapping[str, object]]
    kind: RunKind
    expected: Callable[[Sequence[ScheduleRow]], Mapping[str, str]]

    def at(self, task: str, view: str) -> list[ResultRow]:
        """The planned trials of one task and view, in order of sending."""
        return [trial for trial in self.trials if (trial.row.task, trial.row.view) == (task, view)]

    def parts(self, place: tuple[str, str]) -> tuple[Breakdown, ...]:
        """The D − B breakdowns of one task and view; empty where D and B were not both planned."""
        return next((parts for found, parts in self.analysis.breakdowns.items() if found == place), ())

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """The planned tasks and views: reading before writing, after before before."""
        order = {"scope_lookup": 0, "active_stack": 1, "ast_to_source": 2}
        found = {(trial.row.task, trial.row.view) for trial in self.trials}
        return tuple(sorted(found, key=lambda place: (order.get(place[0], 9), place[1])))

    @property
    def main_place(self) -> tuple[str, str]:
        """The task and view of the primary comparison, or the first planned one where that is not in the plan."""
        places = self.places
        return (PRIMARY_TASK, PRIMARY_VIEW) if (PRIMARY_TASK, PRIMARY_VIEW) in places else places[0]
