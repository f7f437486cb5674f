"""Tokens and time per notation (specification, 9.5 and 10.6). Unknown stays unknown; nothing is a price.

Latency depends on network, load, caches and output length: a side measure, no evidence of computation inside a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING

from bench.score.outcome import Outcome
from bench.stats.denominators import by_syntax, by_task_and_view

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.plan.records import Syntax, Task, View
    from bench.score.table import ResultRow


@dataclass(frozen=True, slots=True)
class Tally:
    """A quantity over the trials that reported it."""

    reported: int
    total: int

    @property
    def mean(self) -> float | None:
        """Mean over the trials that reported it; ``None`` if none did."""
        return self.total / self.reported if self.reported else None


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds of a logical trial, waits included; ``None`` without trials."""

    trials: int
    median_s: float | None
    p90_s: float | None


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What one notation used in one task and view. Rates are over terminal trials; ``None`` is unknown or undefined."""

    task: Task
    view: View
    syntax: Syntax
    trials_with_usage: int
    input_tokens: Tally
    output_tokens: Tally
    reasoning_tokens: Tally
    cached_tokens: Tally
    non_reasoning_output: Tally
    total_tokens: Tally
    truncation_rate: float | None
    retry_rate: float | None
    latency_without_retries: Latency
    latency_with_retries: Latency
    tokens_per_correct: float | None


def usage(trials: Iterable[ResultRow]) -> tuple[UsageRow, ...]:
    """A row per task, view and notation."""
    return tuple(_usage_row(syntax, rows) for part in by_task_and_view(trials) for syntax, rows in by_syntax(part))


def tokens_per_correct(trials: Sequence[ResultRow]) -> float | None:
    """All reported tokens over correct answers; ``None`` (NA) without a correct answer or if any usage is unknown."""
    ended = [trial for trial in trials if trial.terminal]
    correct = sum(trial.outcome is Outcome.CORRECT for trial in ended)
    known = [trial.total_tokens for trial in ended if trial.total_tokens is not None]
    if not correct or len(known) < len(ended):
        return None
    return sum(known) / correct


def _usage_row(syntax: Syntax, rows: Sequence[ResultRow]) -> UsageRow:
    ended = [row for row in rows if row.terminal]
    retried = [row.total_s for row in ended if row.attempts > 1 and row.total_s is not None]
    direct = [row.total_s for row in ended if row.attempts == 1 and row.total_s is not None]
    return UsageRow(
        task=rows[0].row.task,
        view=rows[0].row.view,
        syntax=syntax,
        trials_with_usage=sum(row.total_tokens is not None for row in rows),
        input_tokens=_tally(row.input_tokens for row in rows),
        output_tokens=_tally(row.output_tokens for row in rows),
        reasoning_tokens=_tally(row.reasoning_tokens for row in rows),
        cached_tokens=_tally(row.cached_input_tokens for row in rows),
        non_reasoning_output=_tally(row.non_reasoning_output_tokens for row in rows),
        total_tokens=_tally(row.total_tokens for row in rows),
        truncation_rate=_rate(row.outcome is Outcome.INCOMPLETE_OUTPUT for row in ended),
        retry_rate=_rate(row.attempts > 1 for row in ended),
        latency_without_retries=_latency(direct),
        latency_with_retries=_latency(retried),
        tokens_per_correct=tokens_per_correct(rows),
    )


def _tally(values: Iterable[int | None]) -> Tally:
    known = [value for value in values if value is not None]
    return Tally(len(known), sum(known))


def _rate(hits: Iterable[bool]) -> float | None:
    all_hits = list(hits)
    return sum(all_hits) / len(all_hits) if all_hits else None


def _latency(seconds: Sequence[float]) -> Latency:
    if not seconds:
        return Latency(0, None, None)
    ninth = quantiles(seconds, n=10, method="inclusive")[-1] if len(seconds) > 1 else seconds[0]
    return Latency(len(seconds), median(seconds), ninth)
