"""How things are called in pytest: a trial's node id and markers, the folder of evaluations, the key of a handoff.

Pure text from schedule rows, so that the process which never collects can say what the collecting one will find.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench.plan.records import ScheduleRow

FOLDER = "evals"
HANDOFF = "bench"  # the key of xdist's workerinput
FUNCTIONS: Mapping[str, str] = {
    "test_scope_lookup": "scope_lookup",
    "test_active_stack": "active_stack",
    "test_ast_to_source": "ast_to_source",
}
MODULES: Mapping[str, str] = {task: f"{function}.py" for function, task in FUNCTIONS.items()}

FIXED_MARKERS: tuple[tuple[str, str], ...] = (
    ("smoke", "trials of the smoke preset"),
    ("pilot", "trials of the pilot preset"),
    ("main", "trials of the main preset"),
    ("hard", "trials of the hard preset"),
    ("p0", "trials of a phase p0 plan: task scope_lookup"),
    ("p1", "trials of a phase p1 plan: all three tasks"),
    ("scope_lookup", "task T1: which value does the probed variable have here"),
    ("active_stack", "task T2: which blocks are open here"),
    ("ast_to_source", "task T3: write the program of this table"),
    ("before_close", "view: the text ends just before the deepest block closes"),
    ("after_close", "view: the text ends after the run of closes"),
    ("program", "view: the whole program (task T3)"),
    ("braces", "notation A"),
    ("generic_end", "notation B"),
    ("typed_end", "notation C"),
    ("named_end", "notation D"),
    ("padded_end", "notation E"),
    ("natural", "natural words"),
    ("nonce", "invented words"),
)


@dataclass(frozen=True, slots=True)
class TrialNames:
    """Names and markers of the trials of one plan."""

    preset: str
    phase: str

    def markers(self, row: ScheduleRow) -> tuple[str, ...]:
        """The marker names of one trial, the test function's own included."""
        return (
            self.preset,
            self.phase,
            row.task,
            row.view,
            row.syntax,
            row.lexical,
            f"depth_{row.depth}",
            f"filler_{row.filler}",
        )

    def declarations(self, schedule: Iterable[ScheduleRow]) -> list[str]:
        """One ``name: description`` line per marker that is not among the fixed ones."""
        known = {name for name, _ in FIXED_MARKERS}
        present = {name for row in schedule for name in self.markers(row)} - known
        return [f"{name}: trials of this plan ({name.replace('_', ' ')})" for name in sorted(present)]


def function_name(row: ScheduleRow) -> str:
    """The test function that runs this trial."""
    return f"test_{row.task}"


def item_name(row: ScheduleRow) -> str:
    """The item's name: function and, in brackets, the readable part of the trial."""
    return f"test_{row.task}[{row.slug}]"


def node_id(row: ScheduleRow) -> str:
    """The item's node id, relative to the root directory."""
    return f"{FOLDER}/{MODULES[row.task]}::{item_name(row)}"


def duplicate_name(schedule: Sequence[ScheduleRow]) -> str | None:
    """The first node id that two trials share, or None. Such a plan cannot be addressed."""
    seen: set[str] = set()
    for row in schedule:
        name = node_id(row)
        if name in seen:
            return name
        seen.add(name)
    return None
