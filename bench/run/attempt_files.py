"""What is kept of one generation attempt besides its body. Values in, values out; ``store`` writes them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.llm.model import DecodeError
from bench.run.records import AttemptMeta
from bench.run.terminal import error_record

if TYPE_CHECKING:
    from bench.llm.model import RawResponse, TransportError
    from bench.llm.redact import Redactor
    from bench.run.ledger_records import Reserve


@dataclass(frozen=True, slots=True)
class When:
    """Wall-clock time of sending, and seconds until the last byte on the monotonic clock."""

    sent_at: str
    seconds: float


def meta_of_answer(ask: Reserve, raw: RawResponse, *, when: When, error: dict[str, object] | None) -> AttemptMeta:
    """The description of an attempt that was answered, be it by an error."""
    return AttemptMeta(
        trial_id=ask.trial,
        number=ask.attempt,
        series=ask.series,
        attempt_key=ask.key,
        http_status=raw.http_status,
        headers=raw.headers,
        request_id=raw.headers.get("x-request-id"),
        sent_at=when.sent_at,
        s=when.seconds,
        body_bytes=len(raw.body),
        body_sha256=hashlib.sha256(raw.body).hexdigest(),
        error=error,
        redacted=raw.redacted,
        withheld=raw.withheld,
    )


def meta_of_failure(
    ask: Reserve, error: TransportError | DecodeError, *, when: When, redactor: Redactor
) -> AttemptMeta:
    """The description of an attempt that brought no body."""
    decode = error if isinstance(error, DecodeError) else None
    return AttemptMeta(
        trial_id=ask.trial,
        number=ask.attempt,
        series=ask.series,
        attempt_key=ask.key,
        http_status=decode.http_status if decode else None,
        headers={},
        request_id=decode.request_id if decode else None,
        sent_at=when.sent_at,
        s=when.seconds,
        body_bytes=None,
        body_sha256=None,
        error=error_record(error, redactor),
    )


def meta_of_stored_body(ask: Reserve, body: bytes) -> AttemptMeta:
    """The description of an attempt of which a kill left only the body."""
    return AttemptMeta(
        trial_id=ask.trial,
        number=ask.attempt,
        series=ask.series,
        attempt_key=ask.key,
        http_status=None,
        headers={},
        request_id=None,
        sent_at=None,
        s=None,
        body_bytes=len(body),
        body_sha256=hashlib.sha256(body).hexdigest(),
        error=None,
        rebuilt=True,
    )
