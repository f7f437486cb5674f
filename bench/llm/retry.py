"""The retry policy as a pure function (section 8.6): what an error means, and whether and how long to wait.

Nobody waits or sends here; only the trial runner acts on a decision. Errors are told apart by code, then type, never by
the text of a message.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal, assert_never

from bench.llm.model import ApiError, DecodeError, TransportError

if TYPE_CHECKING:
    from bench.llm.model import LlmError

MAX_ATTEMPTS = 4
MAX_TOTAL_S = 600.0
_MAX_BACKOFF_S = 60.0
_ABSURD_S = 366 * 86_400.0  # a wait beyond a year is a broken header; anything below is obeyed by stopping

Kind = Literal["session_stop", "rejected", "retry", "not_connected", "decode", "ambiguous"]
StopKind = Literal["quota", "key", "parameter"]

_QUOTA_CODES = frozenset({
    "insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded", "organization_usage_limit_exceeded", "billing_hard_limit_reached",
    "billing_not_active",
})  # fmt: skip
_RATE_CODES = frozenset({"rate_limit_exceeded", "slow_down"})
# a code of this family that did not exist when this was written still means that waiting does not help
_QUOTA_WORDS = re.compile(r"quota|billing|spend|credit|payment|usage_limit")
_PARAMETER_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
# what every request of a run has in common: a server that blames one of these will refuse all the others too
_SHARED_PARAMS = frozenset({
    "model", "reasoning", "reasoning.effort", "temperature", "top_p", "max_output_tokens", "store", "stream",
    "truncation",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stop:
    """Do not send this request again. ``reason``: the error's kind, or the bound that was hit: attempts or time."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Send again after at least ``seconds``."""

    seconds: float


def classify(error: LlmError) -> Kind:
    """What an error means for the trial and the session (the table of outcomes)."""
    match error:
        case TransportError():
            return "ambiguous" if error.ambiguous_outcome else "not_connected"
        case DecodeError():
            return "decode"
        case ApiError():
            if stop_kind(error) is not None:
                return "session_stop"
            return "retry" if error.http_status == 429 or error.http_status >= 500 else "rejected"
    assert_never(error)


def stop_kind(error: ApiError) -> StopKind | None:
    """Why every further request would fail the same way, or ``None`` if this error is one trial's own."""
    status = error.http_status
    if status == 402 or (status < 500 and _is_quota(error)):
        return "quota"
    if status in (401, 403):
        return "key"
    if status == 404 or (status == 400 and (error.code in _PARAMETER_CODES or error.param in _SHARED_PARAMS)):
        return "parameter"
    return None


def decide(error: LlmError, *, attempt: int, elapsed_s: float, now: datetime, jitter: float) -> Stop | Wait:
    """Whether attempt number ``attempt`` (from 1), which failed with ``error``, is followed by another.

    ``elapsed_s`` is the trial's time so far including earlier attempts and waits, ``now`` an aware wall-clock time,
    ``jitter`` a draw from [0, 1) by a generator of its own. The wait is the server's ``Retry-After`` plus
    ``jitter * min(60, 2^(attempt-1))`` seconds, so that nobody comes early and not all at once; without a valid header
    the second term alone. A wait that does not fit into 600 s in total stops now.
    """
    kind = classify(error)
    if kind != "retry" or not isinstance(error, ApiError):
        return Stop(kind)
    if attempt >= MAX_ATTEMPTS:
        return Stop("attempts")
    asked_s = parse_retry_after(error.retry_after, now=now) or 0.0
    if elapsed_s + asked_s >= MAX_TOTAL_S:
        return Stop("time")
    spread_s = jitter * min(_MAX_BACKOFF_S, 2.0 ** (attempt - 1))
    return Wait(asked_s + min(spread_s, MAX_TOTAL_S - elapsed_s - asked_s))


def parse_retry_after(header: str | None, *, now: datetime) -> float | None:
    """The seconds a ``Retry-After`` asks for, or ``None`` if it is absent, negative, absurd or unreadable.

    Forms: seconds with or without a fraction, ``<n>ms`` (from ``retry-after-ms``), and the dates of RFC 9110; a date
    that has passed is 0.
    """
    text = (header or "").strip()
    if number := re.fullmatch(r"([0-9]+(?:\.[0-9]*)?)(ms)?", text):
        seconds = float(number[1]) / (1000 if number[2] else 1)
    elif (date := _http_date(text)) is not None:
        seconds = max(0.0, (date - now).total_seconds())
    else:
        return None
    return seconds if math.isfinite(seconds) and seconds <= _ABSURD_S else None


def _is_quota(error: ApiError) -> bool:
    for word in (error.code, error.type):
        if word in _RATE_CODES:
            return False
        if word is not None and (word in _QUOTA_CODES or _QUOTA_WORDS.search(word)):
            return True
    return False


def _http_date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
