"""What a freeze is told of the day, the machine and the size of the run. Values only: nothing is measured here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.plan.tried_grids import TriedGrid


@dataclass(frozen=True, slots=True)
class SmallestEffect:
    """The difference detectable with 80 % power at 5 % at the frozen size, in percentage points; None: not known.

    ``source`` says where the variances come from (a pilot's folder, or why there are none).
    """

    mde_pp: float | None
    source: str


@dataclass(frozen=True, slots=True)
class FreezeFacts:
    """What a freeze records of the day and the machine. ``date`` is UTC, ISO 8601; ``versions`` by package name."""

    date: str
    git_commit: str | None
    dirty: bool
    diff_sha256: str | None
    versions: Mapping[str, str]
    effect: SmallestEffect
    tried_grids: Sequence[TriedGrid] = field(default=())
