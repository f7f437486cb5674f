"""What the result of one attempt means for its trial and for the ledger. Pure: used when sending and when recovering.

No files and no waiting here; how long to wait before a retry is asked of ``llm.retry``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from bench.llm.model import ApiError, DecodeError, LlmResponse, TransportError
from bench.llm.retry import MAX_ATTEMPTS, Wait, classify, decide, stop_kind
from bench.run.ledger_records import Settle, Stop, Unresolved

if TYPE_CHECKING:
    from datetime import datetime

    from bench.llm.model import LlmError, LlmResult, TokenUsage
    from bench.run.ledger_records import Record, Reserve, StopReason
    from bench.run.records import Ending

COUNT_MARGIN = 256  # local allowance for a count that differs from what is billed; no promise of the provider


@dataclass(frozen=True, slots=True)
class Situation:
    """What a judgement depends on besides the result. ``attempt`` counts within the series, from 1."""

    reserve: Reserve
    invocation: str
    attempt: int
    elapsed_s: float
    now: datetime
    jitter: float
    strict_count: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """``ending`` ends the trial; without one it is retried in ``wait_s``, or stays pending or ambiguous.

    ``closing`` is what the ledger is told about this attempt. ``reason`` is a short word for people.
    """

    closing: tuple[Record, ...]
    ending: Ending | None = None
    wait_s: float | None = None
    ambiguous: bool = False
    reason: str | None = None


def judge(result: LlmResult, situation: Situation) -> Judgement:  # noqa: PLR0911 - one arm per class of error
    """The meaning of a generation attempt's result (table "what came" of the run's rules)."""
    if isinstance(result, LlmResponse):
        ending, reason = ending_of(result)
        return Judgement(_closing_of_response(result, situation), ending=ending, reason=reason)
    key = situation.reserve.key
    match classify(result):
        case "session_stop":
            stop = _stop(result, situation)
            return Judgement((Settle(key, 0, "stopped"), stop), reason=stop.reason)
        case "not_connected":
            return Judgement((Settle(key, 0, "not_sent"),), ending="transport_failure", reason="not connected")
        case "ambiguous":
            return Judgement((Unresolved(key, "ambiguous"),), ambiguous=True, reason="ambiguous")
        case "decode":
            return Judgement((_closing_of_error(result, key),), ending="decode_failure", reason="decode")
        case "rejected":
            return Judgement((_closing_of_error(result, key),), ending="api_rejected", reason=_short(result))
        case "retry":
            return _retried(result, situation, closing=_closing_of_error(result, key))
        case other:
            assert_never(other)


def judge_count(error: LlmError, situation: Situation) -> Judgement:  # noqa: PLR0911 - one arm per class
    """The meaning of a failed count: nothing was billed, so that one whose answer got lost is simply asked again."""
    key = situation.reserve.key
    closing = Settle(key, 0, "count_failed")
    match classify(error):
        case "session_stop":
            stop = _stop(error, situation)
            return Judgement((Settle(key, 0, "stopped"), stop), reason=stop.reason)
        case "not_connected":
            return Judgement((closing,), ending="transport_failure", reason="not connected")
        case "decode":
            return Judgement((closing,), ending="decode_failure", reason="decode")
        case "rejected":
            return Judgement((closing,), ending="api_rejected", reason=_short(error))
        case "retry":
            return _retried(error, situation, closing=closing)
        case "ambiguous" if situation.attempt < MAX_ATTEMPTS:
            return Judgement((closing,), wait_s=situation.jitter * 2 ** (situation.attempt - 1), reason=_short(error))
        case "ambiguous":
            return Judgement((closing,), ending="transport_failure", reason=_short(error))
        case other:
            assert_never(other)


def ending_of(response: LlmResponse) -> tuple[Ending, str | None]:
    """How an answer ends its trial, whatever it says."""
    if response.status == "incomplete":
        return "incomplete", response.incomplete_reason
    if response.refusals:
        return "refusal", None
    if response.suspected_truncation:
        return "incomplete", "suspected_truncation"
    return ("answered", None) if response.text else ("no_text", None)


def _closing_of_response(response: LlmResponse, situation: Situation) -> tuple[Record, ...]:
    reserve, usage = situation.reserve, response.usage
    if usage is None:
        return (Unresolved(reserve.key, "usage_missing"),)
    settle = Settle(reserve.key, usage.billed_tokens, "usage")
    excess = _excess(usage, situation)
    if excess is None:
        return (settle,)
    return settle, Stop(situation.invocation, "input_above_count", "all", excess)


def _excess(usage: TokenUsage, situation: Situation) -> str | None:
    """Why no further reservation can be trusted, if it cannot."""
    reserve = situation.reserve
    if situation.strict_count and reserve.counted is not None and usage.input_tokens > reserve.counted + COUNT_MARGIN:
        return f"trial {reserve.trial}: {usage.input_tokens} input tokens billed, {reserve.counted} counted before"
    if usage.billed_tokens > reserve.tokens:
        return f"trial {reserve.trial}: {usage.billed_tokens} tokens billed, {reserve.tokens} reserved"
    return None


def _closing_of_error(error: LlmError, key: str) -> Settle | Unresolved:
    if isinstance(error, ApiError | DecodeError) and error.usage is not None:
        return Settle(key, error.usage.billed_tokens, "usage")
    if isinstance(error, ApiError):
        if 400 <= error.http_status < 500:
            return Settle(key, 0, "rejected")
        return Unresolved(key, "server_error")
    return Unresolved(key, "usage_missing")


def _retried(error: LlmError, situation: Situation, *, closing: Record) -> Judgement:
    verdict = decide(
        error,
        attempt=situation.attempt,
        elapsed_s=situation.elapsed_s,
        now=situation.now,
        jitter=situation.jitter,
    )
    if isinstance(verdict, Wait):
        return Judgement((closing,), wait_s=verdict.seconds, reason=_short(error))
    return Judgement((closing,), ending="api_rejected", reason=verdict.reason)


def _stop(error: LlmError, situation: Situation) -> Stop:
    reason: StopReason = (stop_kind(error) if isinstance(error, ApiError) else None) or "parameter"
    return Stop(situation.invocation, reason, "all", _short(error))


def _short(error: LlmError) -> str:
    """The error in a few words: status and code, never the server's text."""
    match error:
        case ApiError():
            code = (error.code or error.type or "").encode("ascii", "replace").decode()[:60]
            return f"HTTP {error.http_status} {code}".rstrip()
        case TransportError():
            return "no whole answer"
        case DecodeError():
            return "unreadable answer"
        case _:
            assert_never(error)
