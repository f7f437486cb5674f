"""T2: reading which blocks are open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.run.trial import run_trial

if TYPE_CHECKING:
    from bench.plugin.runner import RecordOutcome
    from bench.run.session_ledger import SessionLedger
    from bench.run.store import RunStore
    from bench.run.trial import SendingClient, Trial


@pytest.mark.active_stack
def test_active_stack(
    trial: Trial, client: SendingClient, ledger: SessionLedger, run_store: RunStore, record_outcome: RecordOutcome
) -> None:
    """One few-shot episode: which blocks are open here, outermost first?"""
    record_outcome(run_trial(trial, client, ledger, run_store))
