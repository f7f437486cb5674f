"""The ledger against a plain model: several workers, any interleaving, deaths, torn writes, clocks that jump."""

import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bench.run.ledger import Decision, Ledger
from bench.run.ledger_file import read_state
from bench.run.ledger_records import BlockSetAside, CapChanged, Settle, Share, Unresolved, WindowOpened, WorkerGone
from bench.run.limits import BlockAsk, Grant, Halt, Wait, admit_attempt, admit_block
from tests.run.run_fakes import FakeClock, UnflushedFs, opened, reserve

WORKERS = ("gw0", "gw1", "gw2")
workers = st.sampled_from(WORKERS)


@dataclass
class Attempt:
    """One dispatched attempt as the model sees it. ``billed`` is what the server really took."""

    key: str
    trial: str
    worker: str
    tokens: int
    billed: int
    session: int
    state: str = "flight"
    window: str = ""


class LedgerModel(RuleBasedStateMachine):
    """``attempts`` is the whole model: all sums that the ledger keeps are recomputed from it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger"
        self.clock = FakeClock()
        self.attempts: list[Attempt] = []
        self.window = ""
        self.cap = 0
        self.highest_cap = 0
        self.sessions = 0
        self.number = 0
        self.books: dict[str, Ledger] = {}

    def teardown(self) -> None:
        self.folder.cleanup()

    def book(self, worker: str) -> Ledger:
        if worker not in self.books:
            self.books[worker] = Ledger(self.path, fs=UnflushedFs(), clock=self.clock)
        return self.books[worker]

    def today(self) -> str:
        return self.clock.wall.date().isoformat()

    def flying(self, worker: str) -> list[Attempt]:
        return [a for a in self.attempts if a.worker == worker and a.state == "flight"]

    @initialize(cap=st.integers(100, 2000))
    def begin(self, cap: int) -> None:
        self.start_session(cap)

    @rule(cap=st.integers(100, 2000))
    def start_session(self, cap: int) -> None:
        """Everybody of the session before is gone; the cap may be another one."""
        self.books.clear()
        self.sessions += 1
        book = self.book("gw0")
        state = book.refresh()
        rolls = state.window is None or self.today() > state.window
        change = WindowOpened(self.today(), cap) if rolls else CapChanged(state.cap, cap)
        book.append(opened(f"i{self.sessions}", accept_carryover=True), change)
        for attempt in self.attempts:
            if attempt.state == "flight":
                attempt.state, attempt.window = "unresolved", self.window
        if rolls:
            self.window, self.highest_cap = self.today(), 0
        self.cap, self.highest_cap = cap, max(self.highest_cap, cap)

    @rule(worker=workers, tokens=st.integers(1, 900), share=st.floats(0, 1))
    def dispatch(self, worker: str, tokens: int, share: float) -> None:
        """Reserve and send: granted exactly if the model says that it fits."""
        if self.flying(worker):
            return
        self.number += 1
        ask = reserve(f"k{self.number}", trial=f"t{self.number}", tokens=tokens, worker=worker)
        verdict = self.book(worker).transact(
            lambda state, now: _decided(admit_attempt(state, ask, invocation=f"i{self.sessions}", now=now))
        )
        rolls = self.today() > self.window
        flight = self.total("flight")
        spent = 0 if rolls else self.total("settled", self.window) + self.total("unresolved", self.window)
        if self.first_is_in_flight(besides=ask.key):
            assert isinstance(verdict, Wait)
        elif spent + flight + tokens <= self.cap:
            assert isinstance(verdict, Grant)
        else:
            assert isinstance(verdict, Wait if spent + tokens <= self.cap else Halt)
        if isinstance(verdict, Grant):
            if rolls:
                self.window, self.highest_cap = self.today(), self.cap
            self.attempts.append(Attempt(ask.key, ask.trial, worker, tokens, int(tokens * share), self.sessions))

    def first_is_in_flight(self, *, besides: str) -> bool:
        """Whether the invocation's first attempt, which goes out alone, is not back yet."""
        mine = [a for a in self.attempts if a.session == self.sessions and a.key != besides]
        return bool(mine) and mine[0].state == "flight"

    @rule(worker=workers)
    def settle(self, worker: str) -> None:
        """The answer came, with its usage."""
        for attempt in self.flying(worker):
            self.book(worker).append(Settle(attempt.key, attempt.billed, "usage"))
            attempt.state, attempt.window = "settled", self.window

    @rule(worker=workers)
    def lose(self, worker: str) -> None:
        """No answer, or one without usage."""
        for attempt in self.flying(worker):
            self.book(worker).append(Unresolved(attempt.key, "ambiguous"))
            attempt.state, attempt.window = "unresolved", self.window

    @rule(worker=workers, garbage=st.sampled_from([b"", b"\0" * 9, b'{"crc":"0000']))
    def die(self, worker: str, garbage: bytes) -> None:
        """Killed, perhaps in mid-write; the controller notices."""
        self.books.pop(worker, None)
        with self.path.open("ab") as file:
            file.write(garbage)
        survivor = next(name for name in WORKERS if name != worker)
        self.book(survivor).append(WorkerGone(worker))
        for attempt in self.flying(worker):
            attempt.state, attempt.window = "unresolved", self.window

    @precondition(lambda self: any(a.state == "unresolved" for a in self.attempts))
    @rule(data=st.data())
    def recover(self, data: st.DataObject) -> None:
        """An answer that was thought lost is found on the disk: booked where it was unresolved."""
        attempt = data.draw(st.sampled_from([a for a in self.attempts if a.state == "unresolved"]))
        self.book("gw0").append(Settle(attempt.key, attempt.billed, "usage"))
        attempt.state = "settled"

    @rule(worker=workers, block=st.integers(0, 3), tokens=st.integers(1, 400))
    def begin_block(self, worker: str, block: int, tokens: int) -> None:
        """A block is only begun inside what the cap leaves besides the other blocks."""
        shares = (Share(f"b{block}", 1, 2, tokens),)
        ask = BlockAsk(f"i{self.sessions}", worker, block, shares)
        before = self.book(worker).refresh()
        aside, charged, window = before.set_aside(besides=block)[2], before.charged, before.window
        verdict = self.book(worker).transact(lambda state, now: _decided(admit_block(state, ask, now=now)))
        if isinstance(verdict, Grant):
            base = self.total("flight") if self.today() > (window or "") else charged
            assert base + aside + tokens <= self.cap
            if self.today() > self.window:
                self.window, self.highest_cap = self.today(), self.cap

    @rule(worker=workers, block=st.integers(0, 3))
    def end_block(self, worker: str, block: int) -> None:
        """What is left over returns."""
        self.book(worker).append(BlockSetAside(block, worker, ()))

    @rule(hours=st.sampled_from([-30, -1, 1, 25]))
    def clock_jumps(self, hours: int) -> None:
        """The wall clock moves, forwards or back; the monotonic one does not."""
        self.clock.wall += timedelta(hours=hours)

    @rule(seconds=st.integers(1, 50_000))
    def time_passes(self, seconds: int) -> None:
        """Both clocks go on, perhaps over midnight."""
        self.clock.advance(seconds)

    def total(self, state: str, window: str | None = None) -> int:
        size = (lambda a: a.billed) if state == "settled" else (lambda a: a.tokens)
        return sum(size(a) for a in self.attempts if a.state == state and window in (None, a.window))

    @invariant()
    def the_sums_are_the_models_sums(self) -> None:
        """Known, unresolved, in flight and carried, recomputed from the list of attempts."""
        if not self.sessions:
            return
        state = self.book("gw0").refresh()
        assert state.window == self.window
        assert state.known == self.total("settled", self.window)
        assert state.unresolved == self.total("unresolved", self.window)
        assert state.carried == self.total("unresolved") - state.unresolved
        assert state.in_flight == self.total("flight")

    @invariant()
    def the_cap_is_never_passed(self) -> None:
        """known + unresolved + in flight <= the highest cap of the window (bookings never exceed reservations here)."""
        if self.sessions:
            assert self.book("gw0").refresh().charged <= self.highest_cap

    @invariant()
    def nothing_is_freed_that_may_have_been_spent(self) -> None:
        """Whatever the server billed is covered by what is booked or still charged."""
        state = read_state(self.path)
        covered = sum(state.known_by_window.values()) + state.unresolved + state.in_flight + state.carried
        assert covered >= sum(a.billed for a in self.attempts)

    @invariant()
    def every_process_and_every_reader_sees_the_same(self) -> None:
        """All workers' states, and a fold of the file from its beginning."""
        if not self.sessions:
            return
        states = [book.refresh() for book in self.books.values()]
        assert all(state == read_state(self.path) for state in states)


def _decided(verdict: Grant | Wait | Halt) -> Decision[Grant | Wait | Halt]:
    return Decision(verdict, () if isinstance(verdict, Wait | Halt) else verdict.records)


LedgerModel.TestCase.settings = settings(
    max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLedgerModel = LedgerModel.TestCase


class LongLedgerModel(LedgerModel):
    """The same, for longer."""


LongLedgerModel.TestCase.settings = settings(
    max_examples=600, stateful_step_count=80, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLongLedgerModel = pytest.mark.slow(LongLedgerModel.TestCase)
