"""Which planned trials the arguments select: paths, node ids, ``-m``, ``-k``, ``--deselect``.

The same answer pytest gives for items, given for schedule rows, so that trials already terminal count as selected too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.plugin.expression import Expression, holds
from bench.plugin.naming import FOLDER, MODULES, function_name, item_name, node_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.plan.records import ScheduleRow
    from bench.plugin.naming import TrialNames


@dataclass(frozen=True, slots=True)
class Argument:
    """One positional argument: an absolute path and the names after ``::``."""

    path: Path
    names: tuple[str, ...]

    def within(self, folder: Path) -> bool:
        """Whether the path is the folder or lies in it."""
        return self.path == folder or folder in self.path.parents

    def takes(self, row: ScheduleRow, root: Path) -> bool:
        """Whether pytest would collect this trial for the argument."""
        module = root / FOLDER / MODULES[row.task]
        if self.path not in (module, *module.parents):
            return False
        return not self.names or self.names in {(function_name(row),), (item_name(row),)}


def read_argument(text: str, folder: Path) -> Argument:
    """Split ``path::name[param]`` as pytest does; a relative path is relative to ``folder``."""
    head, bracket, parameter = text.partition("[")
    path, *names = head.split("::")
    if bracket and names:
        names[-1] += bracket + parameter
    elif bracket:
        path = text
    return Argument(Path(folder, path).resolve(), tuple(names))


@dataclass(frozen=True, slots=True)
class Selection:
    """What the command line asks for."""

    root: Path
    arguments: tuple[Argument, ...]
    marker: Expression | None = None
    keyword: Expression | None = None
    deselected: tuple[str, ...] = ()

    def takes(self, row: ScheduleRow, names: TrialNames) -> bool:
        """Whether this planned trial is selected."""
        markers = names.markers(row)
        words = (FOLDER, MODULES[row.task], item_name(row), *markers)
        return (
            any(argument.takes(row, self.root) for argument in self.arguments)
            and not (self.deselected and node_id(row).startswith(self.deselected))
            and (self.marker is None or holds(self.marker, markers.__contains__))
            and (self.keyword is None or _keyword_holds(self.keyword, words))
        )

    def positions(self, schedule: Iterable[ScheduleRow], names: TrialNames) -> frozenset[int]:
        """The positions of the selected trials."""
        return frozenset(row.position for row in schedule if self.takes(row, names))


def broken_blocks(schedule: Sequence[ScheduleRow], *, asked: frozenset[int], left: frozenset[int]) -> int:
    """How many blocks hold both trials that are asked for and trials left unsent: no comparison within them."""
    inside = {schedule[position].block for position in asked}
    return len(inside & {schedule[position].block for position in left})


def _keyword_holds(expression: Expression, names: tuple[str, ...]) -> bool:
    lowered = tuple(name.lower() for name in names)
    return holds(expression, lambda word: any(word.lower() in name for name in lowered))
