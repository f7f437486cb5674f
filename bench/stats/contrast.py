"""Which two notations are compared, and over which part of a run.

Names and filters only; no arithmetic here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.plan.records import Lexical, LookupKind, Syntax, Task, View
    from bench.score.table import ResultRow


@dataclass(frozen=True, slots=True)
class Contrast:
    """Correctness under ``plus`` minus correctness under ``minus``."""

    plus: Syntax
    minus: Syntax

    @property
    def name(self) -> str:
        """The name in files, e.g. ``named_end-generic_end``."""
        return f"{self.plus}-{self.minus}"

    @property
    def swapped(self) -> Contrast:
        """The same two notations the other way round."""
        return Contrast(self.minus, self.plus)


PRIMARY = Contrast("named_end", "generic_end")
EXPLORATORY: tuple[Contrast, ...] = (
    Contrast("named_end", "padded_end"),
    Contrast("named_end", "typed_end"),
    Contrast("typed_end", "generic_end"),
    Contrast("generic_end", "braces"),
    Contrast("typed_end", "braces"),
    Contrast("named_end", "braces"),
    Contrast("padded_end", "braces"),
)
"""D-E, D-C, C-B, then B, C, D, E against A; Holm runs over these seven."""

CHECKS: tuple[Contrast, ...] = (
    Contrast("misnamed_end", "named_end"),
    Contrast("misnamed_end", "generic_end"),
)
"""F-D and F-B, in plans of the manipulation check; exploratory, with a Holm adjustment of their own."""


@dataclass(frozen=True, slots=True)
class Selection:
    """One task and view, narrowed by whatever is not ``None``."""

    task: Task
    view: View
    lexical: Lexical | None = None
    lookup_kind: LookupKind | None = None
    depth: int | None = None
    filler: int | None = None
    without_example_set: int | None = None
    without_cell: tuple[int, int] | None = None

    def admits(self, trial: ResultRow) -> bool:
        """Whether a trial belongs to the selection."""
        row = trial.row
        wanted = (
            (self.lexical, row.lexical),
            (self.lookup_kind, row.lookup_kind),
            (self.depth, row.depth),
            (self.filler, row.filler),
        )
        return (
            (row.task, row.view) == (self.task, self.view)
            and all(asked is None or asked == found for asked, found in wanted)
            and row.example_set != self.without_example_set
            and (row.depth, row.filler) != self.without_cell
        )
