"""The deciding side of a session: takes the lock, checks, recovers, says what is pending, and closes the books.

One per session, in the process that starts it. It sends nothing itself; at ``-n 0`` that process joins as a worker too.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from bench.llm.credentials import Credentials, ignored_variables
from bench.llm.redact import Redactor
from bench.plan.run_files import LEDGER_FILE, TOKEN_COUNTS_FILE
from bench.run.clock import Clock, SystemClock
from bench.run.events import EVENTS_NAME, EventLog
from bench.run.fs import Fs, OsFs
from bench.run.invocation import LIVE, Handoff, Invocation, Refusal
from bench.run.jsonl import JsonlDamagedError, read_lines, repair_tail
from bench.run.ledger import Ledger, SessionBrokenError
from bench.run.ledger_fold import TrialLedger
from bench.run.ledger_records import LedgerDamagedError, Stop, WorkerGone
from bench.run.locks import HeldLock, lock_session
from bench.run.prepare import PromptChangedError, requests_of
from bench.run.records import EVALUABLE_ENDINGS
from bench.run.records_io import RunFileError, read_run_terminal
from bench.run.recover import Recovery, RecoveryReport
from bench.run.start import (
    begin,
    boot_id,
    check_backend,
    check_frozen,
    check_ledger,
    check_plan,
    endpoint_of,
    open_plan,
)
from bench.run.states import TrialState, state_of, trial_states
from bench.run.store import RunStore
from bench.run.trial_types import TrialResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bench.plan.plan_files import Plan
    from bench.run.ledger_records import InvocationOpened, StopReason


_BROKEN_FILES = (LedgerDamagedError, JsonlDamagedError, RunFileError, PromptChangedError)
_MAKE_ROOM = "free space or make it writable"


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """How a session ended: why nobody sent any more, and what it used. Tokens are those of the open window."""

    stop_reason: StopReason | None
    stop_detail: str
    generation_calls: int
    http_attempts: int
    known_tokens: int
    unresolved_tokens: int
    carried_tokens: int
    ambiguous: int


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The world of a session: everything it touches besides the run directory."""

    fs: Fs
    clock: Clock
    env: Mapping[str, str]


class ControllerSession:
    """One session on one run, held by its lock until `close`."""

    def __init__(
        self, plan: Plan, invocation: Invocation, *, endpoint: str, lock: HeldLock, world: Surroundings
    ) -> None:
        self.plan = plan
        self._invocation, self._endpoint, self._lock = invocation, endpoint, lock
        self._world = world
        self.recovered = RecoveryReport()
        self.warnings = [f"{name} is set but not read" for name in ignored_variables(world.env)]
        self._events = EventLog(plan.run_dir, fs=world.fs, clock=world.clock)
        self._ledger = Ledger(plan.run_dir / LEDGER_FILE, fs=world.fs, clock=world.clock, on_torn=self._note_torn)
        self._recovery = Recovery(self._ledger, self._store(), world.clock, requests_of(plan))
        self._opened = invocation.opened(
            secrets.token_hex(8), boot=boot_id(), limits=plan.typed_protocol.preset_config().limits
        )
        self.pending: tuple[int, ...] = ()
        self.ambiguous: tuple[int, ...] = ()
        self.terminal_count = 0

    @classmethod
    def open(
        cls,
        run_dir: Path,
        invocation: Invocation,
        *,
        require_audit: Callable[[Path], object],
        grader_hash: str | None = None,
        base_url: str | None = None,
        world: Surroundings | None = None,
    ) -> Self:
        """Begin a session: check, lock, recover, and decide what is pending.

        Raises:
            Refusal: nothing was sent and nothing is held.
        """
        world = world or Surroundings(OsFs(), SystemClock(), os.environ)
        invocation.check()
        plan = open_plan(run_dir)
        check_plan(plan, require_audit=require_audit, grader_hash=grader_hash)
        check_frozen(plan, invocation)
        endpoint = endpoint_of(plan, invocation, base_url=base_url, env=world.env)
        lock = lock_session(world.fs, run_dir)
        try:
            session = cls(plan, invocation, endpoint=endpoint, lock=lock, world=world)
            session._begin()
        except _BROKEN_FILES as error:
            lock.release()
            raise Refusal(str(error)) from None
        except SessionBrokenError as error:
            lock.release()
            raise Refusal(f"{error}; {_MAKE_ROOM}") from None
        except OSError as error:
            lock.release()
            raise Refusal(f"{run_dir}: cannot be written ({error.strerror}); {_MAKE_ROOM}") from None
        except BaseException:
            lock.release()
            raise
        return session

    @property
    def total(self) -> int:
        """How many trials are planned."""
        return len(self.plan.schedule)

    @property
    def opened(self) -> InvocationOpened:
        """This invocation as the ledger has it."""
        return self._opened

    def handoff(self) -> dict[str, Any]:
        """What a worker is told, in plain values."""
        return Handoff(str(self.plan.run_dir), self._endpoint, self._opened, self.pending).as_builtins()

    def request_stop(self, reason: StopReason, detail: str = "") -> None:
        """Nobody of this session sends any more."""
        self._ledger.append(Stop(self._opened.invocation, reason, "all", detail), durable=True)

    def worker_gone(self, worker: str) -> None:
        """A worker died: what it left is set right as far as its files tell, its set-aside returns to the others."""
        self._recovery.run(self.recovered, worker=worker)
        self._ledger.append(WorkerGone(worker), durable=True)

    def trial_state(self, position: int) -> TrialResult:
        """What the files now say of a trial, for one whose worker cannot tell any more."""
        trial_id = self.plan.schedule[position].trial_id
        terminal = read_run_terminal(self.plan.run_dir, trial_id)
        seen = self._ledger.refresh().trials.get(trial_id) or TrialLedger()
        state: TrialState = state_of(self.plan.run_dir, trial_id, seen, ended=terminal is not None)
        ending = terminal.ending if terminal is not None and state == "terminal" else None
        return TrialResult(trial_id, state, ending, None if state == "terminal" else state)

    def close(self) -> SessionEnd:
        """End the session: flush, say how it went, let the lock go. A disk that fails even here is a stop by disk."""
        try:
            self._ledger.refresh()
            self._ledger.append(durable=True)
            return self._end(None)
        except (SessionBrokenError, LedgerDamagedError) as error:
            return self._end(str(error))
        finally:
            self._ledger.close()
            self._lock.release()

    def _end(self, failure: str | None) -> SessionEnd:
        state = self._ledger.state
        running = state.invocation
        stop = running.stop if running else None
        reason: StopReason | None = stop.reason if stop else None
        return SessionEnd(
            stop_reason="disk" if failure else reason,
            stop_detail=failure or (stop.detail if stop else ""),
            generation_calls=running.calls if running else 0,
            http_attempts=running.attempts if running else 0,
            known_tokens=state.known,
            unresolved_tokens=state.unresolved,
            carried_tokens=state.carried,
            ambiguous=sum(seen.last in ("in_flight", "ambiguous") for seen in state.trials.values()),
        )

    def _begin(self) -> None:
        run_dir, fs = self.plan.run_dir, self._world.fs
        for name in (EVENTS_NAME, TOKEN_COUNTS_FILE):
            aside = repair_tail(fs, run_dir / name)
            if aside is not None:
                self._note_torn(aside)
            read_lines(run_dir / name)
        check_ledger(self._ledger.refresh(), self._ledger.path)
        check_backend(self._ledger.state, self._opened.backend)
        self._recovery.run(self.recovered)
        begin(self._ledger, self._opened, invocation=self._invocation, events=self._events)
        self._events.append("session_opened", invocation=self._opened.invocation, backend=self._opened.backend)
        self._choose()

    def _choose(self) -> None:
        """Decide once which trials are pending, from the ledger and the trials' own records."""
        pending: list[int] = []
        ambiguous: list[int] = []
        states = trial_states(self.plan.run_dir, self._ledger.state)
        for row in self.plan.schedule:
            state = states.get(row.trial_id)
            self.terminal_count += state == "terminal"
            if state == "ambiguous" and not self._invocation.retry_ambiguous:
                ambiguous.append(row.position)
            elif state != "terminal" or (self._invocation.retry_failed and self._has_failed(row.trial_id)):
                pending.append(row.position)
        self.pending, self.ambiguous = tuple(pending), tuple(ambiguous)

    def _has_failed(self, trial_id: str) -> bool:
        """Whether a trial ended in an infrastructure failure."""
        terminal = read_run_terminal(self.plan.run_dir, trial_id)
        return terminal is not None and terminal.ending not in EVALUABLE_ENDINGS

    def _store(self) -> RunStore:
        credentials = Credentials.from_environment(self._world.env if self._invocation.backend == LIVE else {})
        return RunStore(
            self.plan.run_dir,
            run=self.plan.protocol_hash,
            redactor=Redactor(credentials.secrets),
            fs=self._world.fs,
        )

    def _note_torn(self, aside: Path) -> None:
        self.recovered.torn.append(aside.name)
        self._events.append("torn_tail_set_aside", file=aside.name)
