"""T1: reading a value out of nested scopes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.run.trial import run_trial

if TYPE_CHECKING:
    from bench.plugin.runner import RecordOutcome
    from bench.run.session_ledger import SessionLedger
    from bench.run.store import RunStore
    from bench.run.trial import SendingClient, Trial


@pytest.mark.scope_lookup
def test_scope_lookup(
    trial: Trial, client: SendingClient, ledger: SessionLedger, run_store: RunStore, record_outcome: RecordOutcome
) -> None:
    """One few-shot episode: which value does the probed variable have here?"""
    record_outcome(run_trial(trial, client, ledger, run_store))
