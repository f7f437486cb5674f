"""Reads a run directory into the table that statistics and reports start from. Writes nothing, grades nothing new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.plan.plan_files import Plan
from bench.score.scores import endings, graded_rows
from bench.score.table import ResultRow

if TYPE_CHECKING:
    from pathlib import Path

    from bench.plan.records import ScheduleRow
    from bench.run.records import TerminalRecord
    from bench.run.states import TrialState
    from bench.score.scores import ScoreRow


def load_trials(run_dir: Path) -> list[ResultRow]:
    """One row per planned trial in schedule order, graded from the files as they are now.

    ``scores.jsonl`` is not needed: it could be older than the last terminal record.
    """
    plan = Plan.open(run_dir)
    scores = graded_rows(run_dir, plan)
    return [
        result_row(row, score, terminal, state)
        for row, score, (terminal, state) in zip(plan.schedule, scores, endings(run_dir, plan), strict=True)
    ]


def result_row(row: ScheduleRow, score: ScoreRow, terminal: TerminalRecord | None, state: TrialState) -> ResultRow:
    """Schedule, score and terminal record of one trial as one row."""
    if terminal is None:
        return ResultRow(
            row, score.outcome, score.strict, score.lenient, score.reason, score.diagnosis, state == "ambiguous"
        )
    used = terminal.usage
    return ResultRow(
        row=row,
        outcome=score.outcome,
        strict=score.strict,
        lenient=score.lenient,
        reason=score.reason,
        diagnosis=score.diagnosis,
        dispatched=True,
        terminal=True,
        input_tokens=None if used is None else used.input_tokens,
        output_tokens=None if used is None else used.output_tokens,
        total_tokens=None if used is None else used.total_tokens,
        cached_input_tokens=None if used is None else used.cached_input_tokens,
        reasoning_tokens=None if used is None else used.reasoning_tokens,
        counted_input_tokens=terminal.counted_input_tokens,
        returned_model=terminal.returned_model,
        response_id=terminal.response_id,
        incomplete_reason=terminal.incomplete_reason,
        suspected_truncation=terminal.suspected_truncation,
        attempts=len(terminal.attempts),
        queue_s=terminal.queue_s,
        count_s=terminal.count_s,
        attempt_s=sum(attempt.s for attempt in terminal.attempts if attempt.s is not None),
        backoff_s=terminal.backoff_s,
        total_s=terminal.total_s,
        sent_at=terminal.sent_at,
        ended_at=terminal.ended_at,
        backend=terminal.backend,
        synthetic_mock=terminal.synthetic_mock,
        series=terminal.series,
    )
