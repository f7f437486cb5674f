"""Runs one trial, if it may be sent at all; the way in for every caller.

A trial that has ended is never sent again, one that is ambiguous only on request; the course of one that is sent is in
``course``. Nothing here knows pytest, prompts or gold.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from bench.run.course import Course
from bench.run.ledger import SessionBrokenError
from bench.run.ledger_records import LedgerDamagedError
from bench.run.records import EVALUABLE_ENDINGS
from bench.run.trial_types import SendingClient, Trial, TrialResult, TrialState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.run.ledger_fold import TrialLedger
    from bench.run.ledger_records import InvocationOpened
    from bench.run.records import TerminalRecord
    from bench.run.session_ledger import SessionLedger
    from bench.run.store import RunStore

__all__ = ["SendingClient", "Trial", "TrialResult", "TrialState", "run_trial"]


def run_trial(trial: Trial, client: SendingClient, ledger: SessionLedger, run_store: RunStore) -> TrialResult:
    """One trial, sent if it may be sent; returns what it came to. A trial that has ended is never sent again.

    Raises:
        SessionBrokenError: the disk or the ledger failed; nothing more may be sent by this process.
        LedgerDamagedError: the ledger is damaged before its tail.
    """
    with _disk_errors_end_the_session(ledger):
        seen = ledger.trial(trial.trial_id)
        terminal = run_store.terminal(trial.trial_id)
        settled = _already_settled(trial, seen, terminal, ledger.opened)
        return settled or Course(trial, client, ledger, run_store, seen, ended_before=terminal is not None).run()


def _already_settled(
    trial: Trial, seen: TrialLedger, terminal: TerminalRecord | None, opened: InvocationOpened
) -> TrialResult | None:
    """The result of a trial that needs, or allows, no sending. A flag re-sends a trial once per invocation."""
    sent_now = seen.last_invocation == opened.invocation
    if terminal is not None and terminal.series >= seen.series:
        again = opened.retry_failed and not sent_now and terminal.ending not in EVALUABLE_ENDINGS
        return None if again else TrialResult(trial.trial_id, "terminal", terminal.ending)
    if seen.last in ("in_flight", "ambiguous"):
        again = opened.retry_ambiguous and not sent_now
        return None if again else TrialResult(trial.trial_id, "ambiguous", reason="ambiguous")
    return None


@contextlib.contextmanager
def _disk_errors_end_the_session(ledger: SessionLedger) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot write the run's files: {error}"
        with contextlib.suppress(SessionBrokenError, LedgerDamagedError):
            ledger.stop("disk", message)
        raise SessionBrokenError(message) from error
