"""A person decides about a trial whose outcome or usage is unknown. Nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.llm.model import TransportError
from bench.llm.redact import Redactor
from bench.plan.run_files import LEDGER_FILE
from bench.run.clock import Clock, SystemClock
from bench.run.events import EventLog
from bench.run.fs import Fs, OsFs
from bench.run.invocation import Refusal
from bench.run.ledger import Ledger
from bench.run.ledger_records import LedgerDamagedError, Resolve, WorkerGone
from bench.run.locks import lock_session
from bench.run.prepare import PromptChangedError, requests_of
from bench.run.records_io import RunFileError
from bench.run.recover import Recovery, RecoveryReport
from bench.run.start import open_plan
from bench.run.store import RunStore
from bench.run.terminal import Circumstances, terminal_record

if TYPE_CHECKING:
    from pathlib import Path

    from bench.plan.plan_files import Plan
    from bench.run.ledger_fold import LedgerState


def resolve(run_dir: Path, trial: str, *, tokens: int | None, fs: Fs | None = None, clock: Clock | None = None) -> str:
    """Settle all open reservations of a trial at ``tokens`` (None: as reserved); one line that says what was done.

    An ambiguous trial ends as missing, unless its answer is found on the disk; of a trial that has ended only the
    reservations are settled. ``trial`` is an id or the beginning of one.

    Raises:
        Refusal: the run is in use, no such trial, or nothing to decide about it.
    """
    if tokens is not None and tokens < 0:
        raise Refusal(f"--tokens {tokens}: expected 0 or more")
    fs, clock = fs or OsFs(), clock or SystemClock()
    plan = open_plan(run_dir)
    trial_id = _full_id(plan, trial)
    lock = lock_session(fs, run_dir)
    try:
        ledger = Ledger(run_dir / LEDGER_FILE, fs=fs, clock=clock)
        store = RunStore(run_dir, run=plan.protocol_hash, redactor=Redactor(()), fs=fs)
        try:
            Recovery(ledger, store, clock, requests_of(plan)).run(RecoveryReport())
            return _resolve(ledger, store, trial_id, tokens=tokens, events=EventLog(run_dir, fs=fs, clock=clock))
        finally:
            ledger.close()
    except (LedgerDamagedError, RunFileError, PromptChangedError) as error:
        raise Refusal(str(error)) from None
    finally:
        lock.release()


def _resolve(ledger: Ledger, store: RunStore, trial_id: str, *, tokens: int | None, events: EventLog) -> str:
    state = ledger.refresh()
    for worker in {r.reserve.worker for r in state.open.values() if r.state != "unresolved"}:
        ledger.append(WorkerGone(worker))  # the session's lock was free: none of them is alive
    reserved = _unresolved(state, trial_id)
    seen = state.trials.get(trial_id)
    ambiguous = seen is not None and seen.last == "ambiguous"
    if not reserved and not ambiguous:
        raise Refusal(f"trial {trial_id[:12]}: nothing is unresolved; locality status lists what is")
    if store.terminal(trial_id) is None and ambiguous:
        _end_as_missing(store, trial_id, state=state, ended_at=events.now())
    ledger.append(Resolve(trial_id, tokens), durable=True)
    booked = reserved if tokens is None else tokens
    events.append("resolved", trial=trial_id, reserved=reserved, booked=booked)
    return f"trial {trial_id[:12]}: {reserved} reserved tokens are booked as {booked}"


def _unresolved(state: LedgerState, trial_id: str) -> int:
    mine = (r for r in state.open.values() if r.reserve.trial == trial_id and r.state == "unresolved")
    return sum(r.reserve.tokens for r in mine)


def _end_as_missing(store: RunStore, trial_id: str, *, state: LedgerState, ended_at: str) -> None:
    store.save_terminal(
        terminal_record(
            TransportError("whether it was answered is unknown; closed by a person's decision", ambiguous_outcome=True),
            "ambiguous_outcome",
            reason="resolved",
            redactor=store.redactor,
            circumstances=Circumstances(
                trial_id=trial_id,
                backend=state.bound_backend or "live",
                series=state.trials[trial_id].series,
                counted=None,
                ended_at=ended_at,
            ),
        )
    )


def _full_id(plan: Plan, trial: str) -> str:
    found = [row.trial_id for row in plan.schedule if trial and row.trial_id.startswith(trial)]
    if len(found) != 1:
        raise Refusal(f"--trial {trial[:70]!r}: {len(found)} planned trials have an id that begins so; expected one")
    return found[0]
