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
    s: float | None
    http_status: int | None
    retry_reason: str | None = None


@dataclass(frozen=True, slots=True)
class TerminalRecord:
    """``terminal.json``: ends a trial, whatever the model said. Times are seconds; dates are UTC, ISO 8601.

    A record that was rebuilt after a kill, or written by a person's decision, does not know the times: None.
    """

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
    queue_s: float | None
    count_s: float | None
    attempts: list[AttemptTiming]
    backoff_s: float | None
    total_s: float | None
    sent_at: str | None
    ended_at: str
    redacted: bool = False
    rebuilt: bool = False
    anomalies: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AttemptMeta:
    """``attempt-NNN-meta.json``: one generation attempt, whatever came of it.

    ``error`` is None for an answer. ``withheld`` says which body was not stored and why; ``s`` and ``sent_at`` are None
    where the file was rebuilt from the body after a kill.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    trial_id: str
    number: int
    series: int
    attempt_key: str
    http_status: int | None
    headers: dict[str, str]
    request_id: str | None
    sent_at: str | None
    s: float | None
    body_bytes: int | None
    body_sha256: str | None
    error: dict[str, object] | None
    redacted: bool = False
    withheld: str | None = None
    rebuilt: bool = False


@dataclass(frozen=True, slots=True)
class CountRecord:
    """``token-count.json``, and one line of ``token-counts.jsonl``: what the server counted for a request."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    trial_id: str
    request_sha256: str
    input_tokens: int
    counted_at: str
    s: float
    request_id: str | None
    cached: bool = False


TERMINAL_RECORD = TypeAdapter(TerminalRecord)
ATTEMPT_META = TypeAdapter(AttemptMeta)
COUNT_RECORD = TypeAdapter(CountRecord)
