"""The rows of the plan files. One class per file; field by field in ``docs/run-format.md``.

No reading, no hashing, no planning here: only the shapes. Slotted dataclasses, validated by pydantic where bytes enter.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ConfigDict, TypeAdapter

from bench.data.gold_row import GoldRow
from bench.data.structure import LookupKind
from bench.data.terms import ALL_SYNTAXES, SYNTAXES, TASKS, Lexical, Syntax, Task, View

__all__ = [
    "ALL_SYNTAXES",
    "SCHEDULE_ROW",
    "SYNTAXES",
    "TASKS",
    "GoldRow",
    "Lexical",
    "LookupKind",
    "ScheduleRow",
    "Syntax",
    "Task",
    "View",
]


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """One trial of ``schedule.jsonl``; rows stand in the order of sending."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    position: int
    block: int
    trial_id: str
    case_id: str
    family_id: str
    task: Task
    view: View
    syntax: Syntax
    lexical: Lexical
    lexicon_set: int | None
    example_set: int
    depth: int
    filler: int
    seed_index: int
    lookup_kind: LookupKind
    replicate: int
    request_sha256: str

    @property
    def slug(self) -> str:
        """The readable part of the pytest id, e.g. ``depth8-filler32-s03-nonce4-after_close-named_end-r0``."""
        regime = self.lexical if self.lexicon_set is None else f"{self.lexical}{self.lexicon_set}"
        return (
            f"depth{self.depth}-filler{self.filler}-s{self.seed_index:02d}-{regime}-{self.view}-{self.syntax}"
            f"-r{self.replicate}"
        )


SCHEDULE_ROW = TypeAdapter(ScheduleRow)
