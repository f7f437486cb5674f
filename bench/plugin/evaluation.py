"""What one invocation evaluates: a value that the controller and the lines it prints share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench.plan.records import ScheduleRow
    from bench.plugin.options import Backend


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A planned run, a backend, and the positions the command line selects. ``base``: where the user stands."""

    run_dir: Path
    backend: Backend
    schedule: Sequence[ScheduleRow]
    selected: frozenset[int]
    base: Path

    @property
    def shown_run_dir(self) -> str:
        """The run directory as the user would type it."""
        return self.shown(self.run_dir)

    def shown(self, path: Path) -> str:
        """A path as the user would type it: relative if it lies below, absolute if not."""
        return str(path.relative_to(self.base)) if path.is_relative_to(self.base) else str(path)
