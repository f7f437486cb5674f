"""Counts the input tokens of a plan's prompts before anything is generated (``plan --count-tokens``).

Every count is an HTTP attempt under the invocation's cap and the rate limits, and goes into the run's cache by request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.run.course import Course
from bench.run.ledger_fold import TrialLedger
from bench.run.store import known_counts
from bench.run.worker import WorkerSession

if TYPE_CHECKING:
    import httpx

    from bench.run.controller import ControllerSession


@dataclass(frozen=True, slots=True)
class CountSummary:
    """What is known after counting. ``stopped`` says why not everything was counted, None if it was."""

    requests: int
    counted: int
    input_tokens: int
    http_attempts: int
    stopped: str | None


def count_tokens(
    session: ControllerSession, *, worker: str = "main", transport: httpx.BaseTransport | None = None
) -> CountSummary:
    """Count each request of the plan that has not been counted; the session stays open.

    Stops at the first request that cannot be counted: the next one would fare no better, or a cap is reached.
    """
    schedule = session.plan.schedule
    counts = known_counts(session.plan.run_dir)
    first_of = {row.request_sha256: row.position for row in reversed(schedule)}
    joined = WorkerSession.join(session.handoff(), worker=worker, transport=transport)
    attempts, stopped = 0, None
    try:
        for request_hash, position in sorted(first_of.items(), key=lambda item: item[1]):
            if request_hash in counts:
                continue
            trial = joined.trial(position)
            seen = joined.ledger.trial(trial.trial_id)
            result = Course(trial, joined.client, joined.ledger, joined.store, _numbers_of(seen)).count_only()
            attempts += joined.ledger.trial(trial.trial_id).counts - seen.counts
            if result.reason is not None:
                stopped = result.reason
                break
    finally:
        joined.close()
    counts = known_counts(session.plan.run_dir)
    known = [counts[request_hash] for request_hash in first_of if request_hash in counts]
    return CountSummary(len(first_of), len(known), sum(known), attempts, stopped)


def _numbers_of(seen: TrialLedger) -> TrialLedger:
    """Only the numbering of counts matters here; a trial that was sent before is not begun anew."""
    return TrialLedger(series=seen.series, attempts=seen.attempts, counts=seen.counts)
