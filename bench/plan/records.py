"""The rows of the plan files. One class per file; field by field in ``docs/run-format.md``.

No reading, no hashing, no planning here: only the shapes. Slotted dataclasses, validated by pydantic where bytes enter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import ConfigDict, TypeAdapter

Task = Literal["scope_lookup", "active_stack", "ast_to_source"]
View = Literal["before_close", "after_close", "program"]
Syntax = Literal["braces", "generic_end", "typed_end", "named_end", "padded_end"]
Lexical = Literal["natural", "nonce"]
LookupKind = Literal["inner", "outer"]

TASKS: tuple[Task, ...] = ("scope_lookup", "active_stack", "ast_to_source")
SYNTAXES: tuple[Syntax, ...] = ("braces", "generic_end", "typed_end", "named_end", "padded_end")


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


@dataclass(frozen=True, slots=True)
class GoldRow:
    """One case of ``gold.jsonl``: exactly one of the three answers is set, by the case's task.

    ``ast`` is the program as JSON, in the form `docs/run-format.md` describes.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    case_id: str
    value: int | None = None
    stack: list[str] | None = None
    ast: list[object] | None = None
