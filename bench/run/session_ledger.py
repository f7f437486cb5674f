"""The ledger as one worker of one session uses it: ask, wait, send, book.

Here is where waiting happens; what may be sent is decided in ``limits``, what is written in ``ledger``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bench.run.ledger import Decision
from bench.run.ledger_fold import TrialLedger
from bench.run.ledger_records import BlockSetAside, Stop
from bench.run.limits import BlockAsk, Grant, Halt, Wait, admit_attempt, admit_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bench.run.clock import Clock, Instant
    from bench.run.ledger import Ledger
    from bench.run.ledger_fold import LedgerState
    from bench.run.ledger_records import InvocationOpened, Record, Reserve, Settle, Share, StopReason

NAP_S = 0.25  # the longest sleep between two looks at the ledger: how late a stop may be noticed
MAX_JITTER_S = 1.0


class Dice(Protocol):
    """What is asked of chance: ``random.Random`` has it."""

    def uniform(self, a: float, b: float) -> float:
        """A number between ``a`` and ``b``."""
        ...


@dataclass(frozen=True, slots=True)
class Granted:
    """The attempt is reserved and its intent is on the disk: the next act is to send it."""

    waited_s: float


@dataclass(frozen=True, slots=True)
class Expired:
    """The trial's time is up before the attempt could be sent."""

    waited_s: float


class SessionLedger:
    """One worker's way to the shared ledger within one invocation."""

    def __init__(self, ledger: Ledger, *, opened: InvocationOpened, worker: str, clock: Clock, dice: Dice) -> None:
        self.opened = opened
        self.worker = worker
        self.clock = clock
        self.dice = dice
        self._ledger = ledger
        self._block: int | None = None
        self._pause_ms = 0
        self._not_before_ms = 0

    def trial(self, trial_id: str) -> TrialLedger:
        """What has been sent of a trial so far, by anybody."""
        return self.trials().get(trial_id) or TrialLedger()

    def trials(self) -> Mapping[str, TrialLedger]:
        """The same of every trial; one that nobody has begun is missing."""
        return self._ledger.refresh().trials

    def enter_block(self, block: int, shares: tuple[Share, ...]) -> Halt | None:
        """Begin a block, or go on in it; None when it is begun. Leaving the one before comes first."""
        if block == self._block:
            return None
        self.leave_block()
        ask = BlockAsk(self.opened.invocation, self.worker, block, shares)
        verdict, _ = self._wait_for(lambda state, now: admit_block(state, ask, now=now), durable=False)
        if isinstance(verdict, Halt):
            return verdict
        self._block = block
        return None

    def leave_block(self) -> None:
        """Give back what is left of the block's set-aside."""
        if self._block is not None:
            self._ledger.append(BlockSetAside(self._block, self.worker, ()))
            self._block = None

    def acquire(
        self, ask: Reserve, *, closing: tuple[Settle, ...] = (), give_up_at: float | None = None
    ) -> Granted | Expired | Halt:
        """Wait until the attempt may be sent, and reserve it. ``closing`` is appended with the first look, in any case.

        ``give_up_at`` is on the monotonic clock: a wait that would end later is not begun.
        """
        closes = frozenset(record.key for record in closing)
        verdict, waited_s = self._wait_for(
            lambda state, now: self._after_own_jitter(
                admit_attempt(state, ask, invocation=self.opened.invocation, now=now, closes=closes), state, now
            ),
            durable=ask.purpose == "generate",
            closing=closing,
            give_up_at=give_up_at,
        )
        match verdict:
            case Grant():
                return Granted(waited_s)
            case Wait():
                return Expired(waited_s)
            case Halt():
                return verdict

    def book(self, *records: Record) -> None:
        """Append what came of an attempt; not flushed, for the trial's files say it again."""
        self._ledger.append(*records)

    def stop(self, reason: StopReason, detail: str) -> None:
        """Nobody of this invocation sends any more."""
        self._ledger.append(Stop(self.opened.invocation, reason, "all", detail))

    def _after_own_jitter(self, verdict: Grant | Wait | Halt, state: LedgerState, now: Instant) -> Grant | Wait | Halt:
        """After a pause each worker waits a little longer, each another time, so that they do not all come at once."""
        if isinstance(verdict, Wait) and verdict.paused and state.pause_until_ms != self._pause_ms:
            self._pause_ms = state.pause_until_ms
            self._not_before_ms = self._pause_ms + int(self.dice.uniform(0, MAX_JITTER_S) * 1000)
        if isinstance(verdict, Grant) and now.mono_ms < self._not_before_ms:
            return Wait((self._not_before_ms - now.mono_ms) / 1000)
        return verdict

    def _wait_for(
        self,
        ask: Callable[[LedgerState, Instant], Grant | Wait | Halt],
        *,
        durable: bool,
        closing: tuple[Record, ...] = (),
        give_up_at: float | None = None,
    ) -> tuple[Grant | Wait | Halt, float]:
        started = self.clock.monotonic()
        while True:
            verdict = self._ledger.transact(_decide(ask, closing, durable=durable))
            closing = ()
            now = self.clock.monotonic()
            if not isinstance(verdict, Wait) or (give_up_at is not None and now + verdict.seconds > give_up_at):
                return verdict, now - started
            self.clock.sleep(min(verdict.seconds, NAP_S))


def _decide(
    ask: Callable[[LedgerState, Instant], Grant | Wait | Halt], closing: Iterable[Record], *, durable: bool
) -> Callable[[LedgerState, Instant], Decision[Grant | Wait | Halt]]:
    def decide(state: LedgerState, now: Instant) -> Decision[Grant | Wait | Halt]:
        verdict = ask(state, now)
        records = () if isinstance(verdict, Wait) else verdict.records
        return Decision(verdict, (*closing, *records), durable=durable and isinstance(verdict, Grant))

    return decide
