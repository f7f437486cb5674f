"""What the ledger says so far: a pure fold over its lines.

No files, no clock, no decisions. Every number that a cap, a limit, a resume or a report looks at is a field here, and
the same lines give the same state in every process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, assert_never

from bench.run.ledger_records import (
    BlockSetAside,
    CapChanged,
    Intent,
    InvocationOpened,
    LedgerDamagedError,
    Pause,
    Reserve,
    Resolve,
    Settle,
    Stop,
    Unresolved,
    WindowOpened,
    WorkerGone,
)
from bench.run.throttle import RateWindow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.run.ledger_records import LedgerLine, Record, Share

LastAttempt = Literal["none", "reserved", "in_flight", "ambiguous", "closed", "resolved"]


@dataclass(slots=True)
class Reservation:
    """A charged attempt. ``window`` is the one in which it became unresolved, ``carried`` if that is an earlier one."""

    reserve: Reserve
    state: Literal["reserved", "in_flight", "unresolved"] = "reserved"
    window: str | None = None
    carried: bool = False


@dataclass(slots=True)
class TrialLedger:
    """One trial's dispatches: generations (``attempts``) and counts, numbered over all series, and within the last.

    An attempt that stopped the session (wrong key, no quota) does not use up the tries of a series.
    """

    series: int = 1
    attempts: int = 0
    counts: int = 0
    series_attempts: int = 0
    series_counts: int = 0
    last: LastAttempt = "none"
    last_invocation: str = ""


@dataclass(slots=True)
class Shares:
    """What is left of a block's set-aside, by trial: calls, attempts, tokens."""

    worker: str
    left: dict[str, tuple[int, int, int]]

    @property
    def totals(self) -> tuple[int, int, int]:
        """Calls, attempts and tokens still set aside."""
        calls = attempts = tokens = 0
        for share in self.left.values():
            calls, attempts, tokens = calls + share[0], attempts + share[1], tokens + share[2]
        return calls, attempts, tokens


@dataclass(slots=True)
class InvocationLedger:
    """What the current invocation has used.

    ``first_key`` is the attempt that nobody overtakes until it is closed: the first of all, then the first generation.
    A wrong key shows at the one, an empty quota often at the other only, since counting is free.
    """

    opened: InvocationOpened
    calls: int = 0
    attempts: int = 0
    blocks_begun: int = 0
    first_key: str | None = None
    first_closed: bool = False
    has_generated: bool = False
    stop: Stop | None = None


@dataclass(slots=True)
class LedgerState:
    """The fold of all lines up to ``seq``. Token fields concern the open window, ``carried`` all earlier ones."""

    seq: int = 0
    window: str | None = None
    cap: int | None = None
    known: int = 0
    unresolved: int = 0
    in_flight: int = 0
    carried: int = 0
    known_by_window: dict[str, int] = field(default_factory=dict)
    bound_backend: str | None = None
    invocation: InvocationLedger | None = None
    open: dict[str, Reservation] = field(default_factory=dict)
    trials: dict[str, TrialLedger] = field(default_factory=dict)
    blocks: dict[int, Shares] = field(default_factory=dict)
    rate: RateWindow = field(default_factory=RateWindow, compare=False)
    pause_until_ms: int = 0
    last_stop: Stop | None = None

    @property
    def charged(self) -> int:
        """Known + unresolved + in-flight tokens of the open window: never above ``cap`` when something is reserved."""
        return self.known + self.unresolved + self.in_flight

    def apply(self, line: LedgerLine) -> None:
        """Take one more line in.

        Raises:
            LedgerDamagedError: the line does not follow from those before it.
        """
        if line.seq != self.seq + 1:
            raise LedgerDamagedError(f"line {self.seq + 1} bears the number {line.seq}")
        try:
            self._take(line.record, line.mono_ms)
        except KeyError as error:
            raise LedgerDamagedError(f"line {line.seq} speaks of {error}, which is not open") from error
        self.seq = line.seq

    def set_aside(self, *, besides: int | None = None) -> tuple[int, int, int]:
        """Calls, attempts and tokens set aside by all blocks but ``besides``."""
        sums = [shares.totals for number, shares in self.blocks.items() if number != besides]
        return sum(s[0] for s in sums), sum(s[1] for s in sums), sum(s[2] for s in sums)

    def _take(self, record: Record, mono_ms: int) -> None:  # noqa: C901, PLR0912 - one branch per record kind
        match record:
            case Reserve():
                self._reserve(record)
            case Intent():
                self._intent(self.open[record.key], mono_ms)
            case Settle():
                self._settle(record)
            case Unresolved():
                self._leave_unresolved(self.open[record.key], ambiguous=record.reason == "ambiguous")
            case BlockSetAside():
                self._set_block(record)
            case Pause():
                self.pause_until_ms = max(self.pause_until_ms, record.until_mono_ms)
            case Stop():
                self._stop(record)
            case WorkerGone():
                self._worker_gone(record.worker)
            case Resolve():
                self._resolve(record)
            case CapChanged():
                self.cap = record.new
            case WindowOpened():
                self._open_window(record)
            case InvocationOpened():
                self._open_invocation(record)
            case _:
                assert_never(record)

    def _reserve(self, record: Reserve) -> None:
        invocation = self._running()
        trial = self.trials.setdefault(record.trial, TrialLedger())
        if record.attempt <= (trial.attempts if record.purpose == "generate" else trial.counts):
            raise LedgerDamagedError(f"attempt {record.attempt} of trial {record.trial} is reserved twice")
        if record.tokens and self.cap is not None and self.charged + record.tokens > self.cap:
            raise LedgerDamagedError(f"a reservation of trial {record.trial} passes the cap of {self.cap} tokens")
        self.open[record.key] = Reservation(record)
        self.in_flight += record.tokens
        if record.series != trial.series:
            trial.series, trial.series_attempts, trial.series_counts = record.series, 0, 0
        if record.purpose == "generate":
            invocation.calls += trial.last_invocation != invocation.opened.invocation
            trial.last_invocation = invocation.opened.invocation
            trial.attempts, trial.series_attempts, trial.last = record.attempt, trial.series_attempts + 1, "reserved"
        else:
            trial.counts, trial.series_counts = record.attempt, trial.series_counts + 1
        invocation.attempts += 1
        self._use_share(record)

    def _use_share(self, record: Reserve) -> None:
        shares = None if record.block is None else self.blocks.get(record.block)
        if shares is not None and (left := shares.left.get(record.trial)) is not None:
            calls, attempts, tokens = left
            generates = record.purpose == "generate"
            shares.left[record.trial] = (
                0 if generates else calls,
                max(0, attempts - 1),
                0 if generates else tokens,
            )

    def _intent(self, reservation: Reservation, mono_ms: int) -> None:
        if reservation.state != "reserved":
            raise LedgerDamagedError(f"trial {reservation.reserve.trial} is sent twice under one reservation")
        invocation = self._running()
        reservation.state = "in_flight"
        self.bound_backend = self.bound_backend or invocation.opened.backend
        generates = reservation.reserve.purpose == "generate"
        if invocation.first_key is None or (generates and not invocation.has_generated):
            invocation.first_key, invocation.first_closed = reservation.reserve.key, False
        invocation.has_generated |= generates
        if generates:
            self.trials[reservation.reserve.trial].last = "in_flight"
        if invocation.opened.max_rpm is not None or invocation.opened.max_tpm is not None:
            self.rate.add(reservation.reserve.key, tokens=reservation.reserve.tokens, mono_ms=mono_ms)

    def _settle(self, record: Settle) -> None:
        reservation = self.open.pop(record.key)
        self._uncharge(reservation)
        self.rate.correct(record.key, record.tokens)
        self._book(record.tokens, reservation.window if reservation.carried else None)
        self._attempt_over(reservation, "closed")
        if record.reason == "stopped":
            trial = self.trials[reservation.reserve.trial]
            generates = reservation.reserve.purpose == "generate"
            trial.series_attempts -= generates
            trial.series_counts -= not generates

    def _leave_unresolved(self, reservation: Reservation, *, ambiguous: bool) -> None:
        if reservation.state == "unresolved":
            raise LedgerDamagedError(f"trial {reservation.reserve.trial} is left unresolved twice")
        self._uncharge(reservation)
        reservation.state, reservation.window = "unresolved", self.window
        self.unresolved += reservation.reserve.tokens
        self._attempt_over(reservation, "ambiguous" if ambiguous else "closed")

    def _attempt_over(self, reservation: Reservation, last: LastAttempt) -> None:
        invocation = self.invocation
        if invocation is not None and invocation.first_key == reservation.reserve.key:
            invocation.first_closed = True
        trial = self.trials[reservation.reserve.trial]
        if reservation.reserve.purpose == "generate" and reservation.reserve.attempt == trial.attempts:
            trial.last = last

    def _uncharge(self, reservation: Reservation) -> None:
        tokens = reservation.reserve.tokens
        if reservation.state != "unresolved":
            self.in_flight -= tokens
        elif reservation.carried:
            self.carried -= tokens
        else:
            self.unresolved -= tokens

    def _book(self, tokens: int, earlier: str | None) -> None:
        """Known usage, of the open window unless it was left unresolved in an earlier one."""
        window = earlier or self.window
        if earlier is None:
            self.known += tokens
        if window is not None:
            self.known_by_window[window] = self.known_by_window.get(window, 0) + tokens

    def _set_block(self, record: BlockSetAside) -> None:
        if record.shares:
            self._running().blocks_begun += record.block not in self.blocks
            self.blocks[record.block] = Shares(record.worker, _left(record.shares))
        else:
            self.blocks.pop(record.block, None)

    def _stop(self, record: Stop) -> None:
        self.last_stop = record
        invocation = self._running()
        if record.invocation == invocation.opened.invocation and (
            invocation.stop is None or (invocation.stop.scope == "blocks" and record.scope == "all")
        ):
            invocation.stop = record

    def _worker_gone(self, worker: str) -> None:
        self._abandon([r for r in self.open.values() if r.state != "unresolved" and r.reserve.worker == worker])
        self.blocks = {number: shares for number, shares in self.blocks.items() if shares.worker != worker}

    def _abandon(self, reservations: Iterable[Reservation]) -> None:
        """Nobody waits for these any more: what was only reserved is free, what was sent may have been billed."""
        for reservation in list(reservations):
            reserve = reservation.reserve
            if reservation.state == "in_flight" and reserve.purpose == "generate":
                self._leave_unresolved(reservation, ambiguous=True)
            else:
                self._uncharge(self.open.pop(reserve.key))
                self._attempt_over(reservation, "closed")

    def _resolve(self, record: Resolve) -> None:
        mine = [r for r in self.open.values() if r.reserve.trial == record.trial and r.state == "unresolved"]
        decided = record.tokens
        for reservation in mine:
            self._uncharge(self.open.pop(reservation.reserve.key))
            kept = reservation.reserve.tokens if decided is None else decided
            self._book(kept, reservation.window if reservation.carried else None)
            decided = None if decided is None else 0
        self.trials[record.trial].last = "resolved"

    def _open_window(self, record: WindowOpened) -> None:
        if self.window is not None and record.date <= self.window:
            raise LedgerDamagedError(f"window {record.date} is opened after {self.window}")
        for reservation in self.open.values():
            if reservation.state == "unresolved":
                reservation.carried = True
        self.carried += self.unresolved
        self.window, self.cap, self.known, self.unresolved = record.date, record.cap, 0, 0

    def _open_invocation(self, record: InvocationOpened) -> None:
        self._abandon([r for r in self.open.values() if r.state != "unresolved"])
        self.blocks.clear()
        if self.invocation is None or self.invocation.opened.boot != record.boot:
            self.rate.clear()  # a monotonic clock starts again with the machine
            self.pause_until_ms = 0
        self.invocation = InvocationLedger(record)

    def _running(self) -> InvocationLedger:
        if self.invocation is None:
            raise LedgerDamagedError("a record stands before the first invocation")
        return self.invocation


def _left(shares: Iterable[Share]) -> dict[str, tuple[int, int, int]]:
    return {share.trial: (share.calls, share.attempts, share.tokens) for share in shares}
