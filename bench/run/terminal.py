"""Builds the documents that an attempt and a trial leave behind. Values in, values out; ``store`` writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from bench.llm.model import ApiError, DecodeError, LlmResponse, TransportError
from bench.run.records import TerminalRecord, UsageRecord

if TYPE_CHECKING:
    from bench.llm.model import LlmError, LlmResult, TokenUsage
    from bench.llm.redact import Redactor
    from bench.run.records import AttemptTiming, Ending


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a terminal record says besides the result. Times in seconds, None where a kill made them unknown."""

    trial_id: str
    backend: str
    series: int
    counted: int | None
    ended_at: str
    queue_s: float | None = None
    count_s: float | None = None
    backoff_s: float | None = None
    total_s: float | None = None
    sent_at: str | None = None
    attempts: list[AttemptTiming] = field(default_factory=list)
    redacted: bool = False
    rebuilt: bool = False


def terminal_record(
    result: LlmResult, ending: Ending, *, reason: str | None, circumstances: Circumstances, redactor: Redactor
) -> TerminalRecord:
    """The record that ends a trial with this result."""
    about = circumstances
    response = result if isinstance(result, LlmResponse) else None
    text, masked = redactor.text(response.text) if response else (None, False)
    return TerminalRecord(
        trial_id=about.trial_id,
        ending=ending,
        status=response.status if response else None,
        text=text,
        refusals=[redactor.text(part)[0] for part in response.refusals] if response else [],
        incomplete_reason=_incomplete_reason(response, reason),
        suspected_truncation=bool(response and response.suspected_truncation),
        response_id=response.response_id if response else None,
        returned_model=response.returned_model if response else None,
        request_id=None if isinstance(result, TransportError) else result.request_id,
        usage=usage_record(None if isinstance(result, TransportError) else result.usage),
        counted_input_tokens=about.counted,
        error=None if isinstance(result, LlmResponse) else error_record(result, redactor, reason=reason),
        backend=about.backend,
        synthetic_mock=about.backend.startswith("mock"),
        series=about.series,
        queue_s=about.queue_s,
        count_s=about.count_s,
        attempts=about.attempts,
        backoff_s=about.backoff_s,
        total_s=about.total_s,
        sent_at=about.sent_at,
        ended_at=about.ended_at,
        redacted=about.redacted or masked,
        rebuilt=about.rebuilt,
        anomalies=list(response.anomalies) if response else [],
    )


def usage_record(usage: TokenUsage | None) -> UsageRecord | None:
    """The usage as it is stored."""
    if usage is None:
        return None
    return UsageRecord(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )


def error_record(error: LlmError, redactor: Redactor, *, reason: str | None = None) -> dict[str, object]:
    """The error as data: kind, status, code, type, the server's words with secrets masked, and why it is final."""
    record: dict[str, object] = {"message": redactor.text(error.message)[0], "reason": reason}
    match error:
        case ApiError():
            record |= {"kind": "api", "http_status": error.http_status, "code": error.code, "type": error.type}
            record |= {"param": error.param, "retry_after": error.retry_after}
        case TransportError():
            record |= {"kind": "transport", "ambiguous_outcome": error.ambiguous_outcome}
        case DecodeError():
            record |= {"kind": "decode", "http_status": error.http_status}
        case _:
            assert_never(error)
    return record


def _incomplete_reason(response: LlmResponse | None, reason: str | None) -> str | None:
    if response is None:
        return None
    return response.incomplete_reason or (reason if response.suspected_truncation else None)
