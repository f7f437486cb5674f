"""One row per planned trial: what was asked, what came of it, what it cost. What statistics and reports start from.

The row's shape only; ``load`` reads it from a run directory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.plan.records import ScheduleRow
    from bench.score.outcome import Outcome

NO_DIAGNOSIS: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A planned trial with its score, tokens and times. ``None`` is unknown, never 0.

    ``dispatched``: something was written to the network for it. Times are seconds; ``attempt_s`` sums all attempts,
    ``attempts`` counts them. Dates are UTC, ISO 8601.
    """

    row: ScheduleRow
    outcome: Outcome
    strict: int | None
    lenient: int | None = None
    reason: str = ""
    diagnosis: Mapping[str, object] = field(default_factory=lambda: NO_DIAGNOSIS)
    dispatched: bool = False
    terminal: bool = False
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    counted_input_tokens: int | None = None
    returned_model: str | None = None
    response_id: str | None = None
    incomplete_reason: str | None = None
    suspected_truncation: bool = False
    attempts: int = 0
    queue_s: float | None = None
    count_s: float | None = None
    attempt_s: float | None = None
    backoff_s: float | None = None
    total_s: float | None = None
    sent_at: str | None = None
    ended_at: str | None = None
    backend: str | None = None
    synthetic_mock: bool = False
    series: int = 0

    @property
    def non_reasoning_output_tokens(self) -> int | None:
        """Output minus reasoning tokens, an estimate of the answer's length; ``None`` unless both are known."""
        if self.output_tokens is None or self.reasoning_tokens is None:
            return None
        return self.output_tokens - self.reasoning_tokens
