"""The writer of ``usage-ledger.jsonl``: lock, read the new tail, decide, append, let go, flush.

No caps and no rules here: a decision is a pure function of the folded state, handed in by the caller. Shared by all
processes of a session through ``flock`` on the file itself, and by the threads of one process through a mutex.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from bench.run.clock import instant
from bench.run.fs import write_all
from bench.run.jsonl import free_name
from bench.run.ledger_file import fold_lines
from bench.run.ledger_fold import LedgerState
from bench.run.ledger_records import LedgerDamagedError, LedgerLine, Stop, encode_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from bench.run.clock import Clock, Instant
    from bench.run.fs import Fs
    from bench.run.ledger_records import Record

T = TypeVar("T")
_CHUNK = 1 << 18


class SessionBrokenError(Exception):
    """The disk or the ledger failed in mid-session: this process sends nothing more."""


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    """What to append, whether it must reach the disk before the caller goes on, and the caller's answer."""

    answer: T
    records: tuple[Record, ...] = ()
    durable: bool = False


class Ledger:
    """One process's view of the ledger file: its descriptor, and the state folded up to ``offset``."""

    def __init__(self, path: Path, *, fs: Fs, clock: Clock, on_torn: Callable[[Path], None] = lambda _: None) -> None:
        self.path = path
        self.state = LedgerState()
        self._fs, self._clock, self._on_torn = fs, clock, on_torn
        self._offset = 0
        self._broken: str | None = None
        self._mutex = threading.Lock()
        self._fd = fs.open_append(path)

    def close(self) -> None:
        """Give the descriptor back."""
        with self._mutex:
            self._fs.close(self._fd)

    def transact(self, decide: Callable[[LedgerState, Instant], Decision[T]]) -> T:
        """Decide on the newest state and append what was decided, in one write; returns the decision's answer.

        The fsync of a durable decision comes after the lock is let go: others need not wait for the disk.

        Raises:
            SessionBrokenError: an append or a flush failed, now or before.
            LedgerDamagedError: the file is damaged before its tail.
        """
        with self._mutex:
            with self._locked():
                self._catch_up()
                now = instant(self._clock)
                decision = decide(self.state, now)
                if decision.records:
                    self._append(decision.records, now)
            if decision.durable:
                self._flush()
        return decision.answer

    def append(self, *records: Record, durable: bool = False) -> None:
        """Append records that need no look at the state."""
        self.transact(lambda _state, _now: Decision(None, records, durable=durable))

    def refresh(self) -> LedgerState:
        """The newest state. A torn tail is set right on the way."""
        return self.transact(lambda state, _now: Decision(state))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        if self._broken is not None:
            raise SessionBrokenError(self._broken)
        self._fs.lock(self._fd, exclusive=True, wait=True)
        try:
            yield
        finally:
            self._fs.unlock(self._fd)

    def _catch_up(self) -> None:
        rest = b""
        while chunk := self._fs.read_at(self._fd, _CHUNK, self._offset + len(rest)):
            data = rest + chunk
            try:
                rest = fold_lines(self.state, data, self.path)
            except LedgerDamagedError as error:
                self._broken = str(error)
                raise
            self._offset += len(data) - len(rest)
        if rest:
            self._quarantine(rest)

    def _quarantine(self, tail: bytes) -> None:
        """Under the lock nobody is writing, so a tail that is no whole line is what a dead process left behind."""
        aside = free_name(self.path)
        fd = self._fs.open_new(aside)
        try:
            write_all(self._fs, fd, tail)
            self._fs.fsync(fd)
        finally:
            self._fs.close(fd)
        self._fs.truncate(self._fd, self._offset)
        self._fs.fsync(self._fd)
        self._on_torn(aside)

    def _append(self, records: Sequence[Record], now: Instant) -> None:
        lines = [
            LedgerLine(self.state.seq + number, now.at, now.mono_ms, record) for number, record in enumerate(records, 1)
        ]
        data = b"".join(map(encode_line, lines))
        try:
            write_all(self._fs, self._fd, data)
        except OSError as error:
            with contextlib.suppress(OSError):  # the next reader would set the torn tail aside anyway
                self._fs.truncate(self._fd, self._offset)
            raise self._fail(f"cannot append to {self.path}: {error}") from error
        for line in lines:
            self.state.apply(line)
        self._offset += len(data)

    def _flush(self) -> None:
        try:
            self._fs.fsync(self._fd)
        except OSError as error:  # a second fsync may report success for pages that are lost: never try again
            message = f"cannot flush {self.path}: {error}"
            self._tell_others(message)
            raise self._fail(message) from error

    def _tell_others(self, message: str) -> None:
        """Stop the other workers too, as far as the failing disk takes one more line."""
        running = self.state.invocation
        if running is not None:
            with contextlib.suppress(OSError, SessionBrokenError, LedgerDamagedError), self._locked():
                self._catch_up()
                self._append((Stop(running.opened.invocation, "disk", "all", message),), instant(self._clock))

    def _fail(self, message: str) -> SessionBrokenError:
        self._broken = message
        return SessionBrokenError(message)
