"""How a run gets on while somebody else sends it: read again and again from its files, each time only what is new.

Read-only, without a lock, without gold: it counts how trials ended, never whether an answer was right.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.plan.run_files import LEDGER_FILE
from bench.run.ledger_file import fold_lines
from bench.run.ledger_fold import LedgerState
from bench.run.ledger_records import Intent, LedgerDamagedError, decode_line
from bench.run.records_io import read_terminal, trial_dir

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MINUTE_MS = 60_000
TEMPO_S = 300.0


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens charged against the cap of the budget window, and HTTP attempts begun in the last 60 seconds."""

    charged_tokens: int
    cap: int | None
    requests_per_minute: int


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at a run: how many of the wanted trials have ended, by which word, at what cost."""

    wanted: int
    ended: int
    words: Mapping[str, int]
    spending: Spending
    seconds_left: float | None


class LedgerFollower:
    """Folds a ledger as it grows."""

    def __init__(self, run_dir: Path) -> None:
        self.state = LedgerState()
        self._path = run_dir / LEDGER_FILE
        self._offset = 0
        self._sent_ms: deque[int] = deque()

    def look(self, *, mono_ms: int) -> Spending:
        """What the ledger says at ``mono_ms`` of this machine's clock.

        Raises:
            LedgerDamagedError: the ledger is broken before its tail.
        """
        self._read_on()
        while self._sent_ms and self._sent_ms[0] <= mono_ms - MINUTE_MS:
            self._sent_ms.popleft()
        recent = sum(sent <= mono_ms for sent in self._sent_ms)  # times of another boot may lie ahead
        return Spending(self.state.charged, self.state.cap, recent)

    def _read_on(self) -> None:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        rest = fold_lines(self.state, data, self._path)
        self._sent_ms.extend(_sent(data[: len(data) - len(rest)]))
        self._offset += len(data) - len(rest)


def _sent(lines: bytes) -> Iterable[int]:
    """When each attempt in these whole lines was sent."""
    for raw in lines.split(b"\n"):
        if b'"intent"' in raw:
            try:
                line = decode_line(raw)
            except LedgerDamagedError:
                continue
            if isinstance(line.record, Intent):
                yield line.mono_ms


class EndingCounter:
    """Counts how trials ended; a record is read once, when the ledger says that its trial is over."""

    def __init__(self, run_dir: Path, trial_ids: Iterable[str]) -> None:
        self._run_dir = run_dir
        self._wanted = frozenset(trial_ids)
        self._ended: dict[str, tuple[int, str]] = {}

    def look(self, state: LedgerState) -> Counter[str]:
        """Endings by their word. A trial that is being sent again does not count until it has ended again."""
        for trial_id, seen in state.trials.items():
            if trial_id in self._wanted and self._ended.get(trial_id, (0, ""))[0] < seen.series:
                self._ended.pop(trial_id, None)
                terminal = read_terminal(trial_dir(self._run_dir, trial_id))
                if terminal is not None and terminal.series >= seen.series:
                    self._ended[trial_id] = (terminal.series, terminal.ending)
        return Counter(ending for _, ending in self._ended.values())


class Tempo:
    """How fast trials have been ending lately, and what that makes of the rest."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, int]] = deque()

    def seconds_left(self, *, ended: int, wanted: int, now_s: float) -> float | None:
        """Seconds until the rest has ended at the pace of the last five minutes; None while nothing is known."""
        if not self._looks or ended != self._looks[-1][1]:
            self._looks.append((now_s, ended))
        while len(self._looks) > 2 and self._looks[1][0] < now_s - TEMPO_S:
            self._looks.popleft()
        then_s, then = self._looks[0]
        if ended >= wanted:
            return 0.0
        return (wanted - ended) * (now_s - then_s) / (ended - then) if ended > then and now_s > then_s else None


def progress_line(progress: Progress) -> str:
    """One look as one line of plain text."""
    spending = progress.spending
    words = ", ".join(f"{word} {count}" for word, count in sorted(progress.words.items(), key=_commonest_first))
    cap = "no cap" if spending.cap is None else f"{spending.cap:,}"
    parts = [
        f"{progress.ended} of {progress.wanted} ended",
        *([words] if words else []),
        f"tokens {spending.charged_tokens:,} / {cap}",
        f"{spending.requests_per_minute} requests/min",
        f"time left {duration(progress.seconds_left)}",
    ]
    return " | ".join(parts)


def duration(seconds: float | None) -> str:
    """Seconds as ``45 s``, ``12 min`` or ``3 h 05 min``; ``unknown`` for None."""
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def _commonest_first(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]
