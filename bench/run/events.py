"""``events.jsonl``: what happened to a run that is no trial and no token. Append and read; no meaning here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bench.run.clock import SystemClock, timestamp
from bench.run.fs import OsFs
from bench.run.jsonl import append_line, read_lines

if TYPE_CHECKING:
    from pathlib import Path

    from bench.run.clock import Clock
    from bench.run.fs import Fs

EVENTS_NAME = "events.jsonl"


class EventLog:
    """Appends events of one run."""

    def __init__(self, run_dir: Path, *, fs: Fs, clock: Clock) -> None:
        self.path = run_dir / EVENTS_NAME
        self._fs, self._clock = fs, clock

    def append(self, kind: str, **fields: object) -> None:
        """One event: ``at`` (UTC), ``kind`` and its fields. A torn tail found on the way is an event of its own."""
        aside = append_line(self._fs, self.path, self._line(kind, fields))
        if aside is not None:
            self.append("torn_tail_set_aside", file=aside.name)

    def now(self) -> str:
        """The time that an event would bear."""
        return timestamp(self._clock)

    def _line(self, kind: str, fields: dict[str, object]) -> bytes:
        return (
            json.dumps({"at": timestamp(self._clock), "kind": kind, **fields}, separators=(",", ":")).encode() + b"\n"
        )


def append_event(run_dir: Path, kind: str, **fields: object) -> None:
    """One event in the real file system, at the real time."""
    EventLog(run_dir, fs=OsFs(), clock=SystemClock()).append(kind, **fields)


def read_events(run_dir: Path) -> list[dict[str, object]]:
    """All events, oldest first.

    Raises:
        JsonlDamagedError: a broken line that is not the torn last one.
    """
    return read_lines(run_dir / EVENTS_NAME)
