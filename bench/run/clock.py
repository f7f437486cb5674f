"""Time as an argument: a clock that tests replace.

No policy here. Durations come from ``monotonic``, dates from ``utc_now``; nothing else in the project reads a clock.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the runner asks of time."""

    def monotonic(self) -> float:
        """Seconds that never jump; comparable between processes of one boot (Linux), meaningless after a reboot."""
        ...

    def utc_now(self) -> datetime:
        """The wall clock, in UTC. May jump."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait that long."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def monotonic(self) -> float:
        """Seconds on ``CLOCK_MONOTONIC``."""
        return time.monotonic()

    def utc_now(self) -> datetime:
        """The wall clock in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """``time.sleep``: goes on after a signal whose handler did not raise."""
        time.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment on both clocks: ``mono_ms`` for durations, ``at`` (UTC, ISO 8601) for people, ``date`` for windows."""

    mono_ms: int
    at: str

    @property
    def date(self) -> str:
        """The UTC date, ``YYYY-MM-DD``; sorts as a string."""
        return self.at[:10]


def instant(clock: Clock) -> Instant:
    """The present moment of a clock."""
    return Instant(mono_ms=int(clock.monotonic() * 1000), at=timestamp(clock))


def timestamp(clock: Clock) -> str:
    """The wall clock as ``YYYY-MM-DDTHH:MM:SS.mmmZ``."""
    return clock.utc_now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
