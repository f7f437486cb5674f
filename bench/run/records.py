"""The documents a run writes for one trial. Shapes only; who writes them when is in ``store`` and ``trial``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import ConfigDict, TypeAdapter

Ending = Literal[
    "answered",  # completed with final text
    "no_text",  # completed without final text
    "refusal",
    "incomplete",  # status incomplete, or suspected truncation
    "api_rejected",
    "transport_failure",
    "decode_failure",
    "ambiguous_outcome",  # written only by `locality resolve`; otherwise derived (intent without terminal record)
]
EVALUABLE_ENDINGS: frozenset[Ending] = frozenset({"answered", "no_text", "refusal", "incomplete"})


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """Token usage as reported; ``None`` is unknown."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class AttemptTiming:
    """One HTTP attempt: ``s`` seconds on the monotonic clock, from just before the write to the last byte."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    number: int
    s: float
    http_status: int | None
    retry_reason: str | None = None


@dataclass(frozen=True, slots=True)
class TerminalRecord:
    """``terminal.json``: ends a trial, whatever the model said. Times are seconds; dates are UTC, ISO 8601."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    trial_id: str
    ending: Ending
    status: str | None
    text: str | None
    refusals: list[str]
    incomplete_reason: str | None
    suspected_truncation: bool
    response_id: str | None
    returned_model: str | None
    request_id: str | None
    usage: UsageRecord | None
    counted_input_tokens: int | None
    error: dict[str, object] | None
    backend: str
    synthetic_mock: bool
    series: int
    queue_s: float
    count_s: float
    attempts: list[AttemptTiming]
    backoff_s: float
    total_s: float
    sent_at: str | None
    ended_at: str
    redacted: bool = False
    rebuilt: bool = False
    anomalies: list[str] = field(default_factory=list)


TERMINAL_RECORD = TypeAdapter(TerminalRecord)
