"""Reads an answer of a Responses server (section 8.4): bytes in, a value out, nothing raised and nothing sent.

Tolerant where servers differ (absent keys, unknown items, odd numbers are kept as anomalies) and strict where a meaning
would have to be guessed. What follows from an error is decided in ``retry`` and by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bench.llm.model import ApiError, DecodeError, LlmResponse, RawResponse
from bench.llm.redact import mask_account_ids
from bench.llm.usage import read_usage, usage_if_readable
from bench.llm.wire_fields import WrongShapeError, needed, optional
from bench.wire.strict_json import JsonError, dumps, loads

if TYPE_CHECKING:
    from bench.llm.model import LlmError, LlmRequest, LlmResult

_MESSAGE_CHARS = 2000

Fields = dict[str, Any]


def decode_response(raw: RawResponse, *, max_output_tokens: int) -> LlmResult:
    """What the server said to a generation request that allowed ``max_output_tokens``."""
    body = _success_body(raw)
    if not isinstance(body, dict):
        return body
    status = body.get("status")
    if status in ("failed", "cancelled"):
        return _api_error(raw, body)
    if status not in ("completed", "incomplete"):
        return _decode_error(raw, f"status {status!r:.60} is none of completed, incomplete, failed, cancelled", body)
    try:
        return _response(raw, body, max_output_tokens)
    except WrongShapeError as error:
        return _decode_error(raw, str(error), body)


def decode_generation(
    body: bytes, *, http_status: int | None, headers: dict[str, str], request: LlmRequest
) -> LlmResult:
    """The result of a stored answer to ``request``, the same as when it came.

    ``http_status`` is ``None`` when a kill lost it: then only a Responses object counts as an answer, anything else is
    a ``DecodeError``.
    """
    if http_status is not None:
        return decode_response(RawResponse(http_status, headers, body), max_output_tokens=request.max_output_tokens)
    raw = RawResponse(200, headers, body)
    if not is_response_object(body):
        return replace(_decode_error(raw, "status lost, and the body is no Responses object"), http_status=None)
    return decode_response(raw, max_output_tokens=request.max_output_tokens)


def decode_count(raw: RawResponse) -> int | LlmError:
    """The input tokens that the counting endpoint reports."""
    body = _success_body(raw, kind="response.input_tokens")
    if not isinstance(body, dict):
        return body
    try:
        tokens = optional(body, "input_tokens", int)
    except WrongShapeError as error:
        return _decode_error(raw, str(error))
    if tokens is None or tokens < 0:
        return _decode_error(raw, f"field 'input_tokens': expected a count, got {tokens}")
    return tokens


def is_response_object(body: bytes) -> bool:
    """Whether these bytes are one whole Responses object, whatever it says."""
    try:
        value = loads(body)
    except JsonError:
        return False
    return isinstance(value, dict) and value.get("object") == "response"


def _success_body(raw: RawResponse, kind: str = "response") -> Fields | ApiError | DecodeError:
    """The object of a 2xx answer, or the error that it is."""
    if not 200 <= raw.http_status < 300:
        return _api_error(raw, _lenient_body(raw))
    try:
        body = loads(raw.body)
    except JsonError as error:
        return _decode_error(raw, f"not JSON: {error}" + (f" ({raw.withheld})" if raw.withheld else ""))
    if not isinstance(body, dict):
        return _decode_error(raw, f"expected an object, got {type(body).__name__}")
    if body.get("error") or body.get("object") == "error":
        return _api_error(raw, body)
    if body.get("object", kind) != kind:
        return _decode_error(raw, f"object is {body['object']!r:.60}, expected {kind!r}", body)
    return body


def _decode_error(raw: RawResponse, message: str, body: Fields | None = None) -> DecodeError:
    usage = usage_if_readable(body or {})
    return DecodeError(message, raw.http_status, raw.headers.get("x-request-id"), raw.body, usage)


# errors


def _lenient_body(raw: RawResponse) -> Fields:
    try:
        body = loads(raw.body)
    except JsonError:
        return {}
    return body if isinstance(body, dict) else {}


def _api_error(raw: RawResponse, body: Fields) -> ApiError:
    """The error in any of the forms seen: ``{"error": {…}}``, ``{"error": "…"}``, ``{"detail": …}``, or flat."""
    error = body.get("error")
    fields: Fields = error if isinstance(error, dict) else body
    message = error if isinstance(error, str) else fields.get("message") or body.get("detail")
    if message is None:
        message = _described(raw, body)
    text = message if isinstance(message, str) else dumps(message)
    return ApiError(
        http_status=raw.http_status,
        code=_word(fields.get("code")),
        type=_word(fields.get("type")),
        message=mask_account_ids(text)[:_MESSAGE_CHARS],
        retry_after=_retry_after(raw.headers),
        request_id=raw.headers.get("x-request-id"),
        raw_body=raw.body,
        param=_word(fields.get("param")),
        usage=usage_if_readable(body),
    )


def _described(raw: RawResponse, body: Fields) -> str:
    if "status" in body:
        return f"HTTP {raw.http_status} with status {body['status']!r:.60}"
    what = raw.withheld or f"{raw.headers.get('content-type', 'no content type')}, {len(raw.body)} bytes"
    return f"HTTP {raw.http_status} without an error object ({what})"


def _word(value: object) -> str | None:
    """A code as text: most servers send a string, some a number."""
    match value:
        case str():
            return value
        case bool() | None:
            return None
        case int():
            return str(value)
    return None


def _retry_after(headers: dict[str, str]) -> str | None:
    if (milliseconds := headers.get("retry-after-ms")) is not None:
        return f"{milliseconds}ms"
    return headers.get("retry-after")


# answers


@dataclass(slots=True)
class _Content:
    """What the walk over ``output`` has gathered: texts as (output index, content index, phase, text)."""

    texts: list[tuple[int, int, str | None, str]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    anomalies: list[str] = field(default_factory=list)
    has_final_phase: bool = False
    has_reasoning: bool = False

    def final_texts(self) -> list[tuple[int, int, str | None, str]]:
        """The texts of the answer: of the final phase where messages name one, never of another named phase."""
        wanted = "final_answer" if self.has_final_phase else None
        return [entry for entry in self.texts if entry[2] == wanted]


def _response(raw: RawResponse, body: Fields, max_output_tokens: int) -> LlmResponse:
    content = _content(needed(body, "output", list))
    details = optional(body, "incomplete_details", dict) or {}
    usage, anomalies = read_usage(body)
    if content.has_reasoning and usage is not None and usage.reasoning_tokens == 0:
        anomalies.append("a reasoning item beside reasoning_tokens 0")
    anomalies += [f"no {name!r}" for name in ("id", "model", "object") if body.get(name) is None]
    texts = content.final_texts()
    return LlmResponse(
        response_id=optional(body, "id", str) or "",
        returned_model=optional(body, "model", str) or "",
        status=body["status"],
        text="".join(text for *_, text in texts),
        refusals=tuple(content.refusals),
        incomplete_reason=optional(details, "reason", str),
        usage=usage,
        request_id=raw.headers.get("x-request-id"),
        raw_body=raw.body,
        suspected_truncation=(
            body["status"] == "completed" and usage is not None and usage.output_tokens >= max_output_tokens
        ),
        parts=tuple((item, part, phase, len(text)) for item, part, phase, text in texts),
        anomalies=(*content.anomalies, *anomalies),
    )


def _content(output: list[Any]) -> _Content:
    content = _Content()
    for index, item in enumerate(output):
        kind = needed(item, "type", str)
        if kind == "message":
            _read_message(content, index, item)
        elif kind == "reasoning":
            content.has_reasoning |= any(item.get(key) for key in ("content", "summary", "encrypted_content"))
        else:
            content.anomalies.append(f"output[{index}]: item of type {kind!r:.60}")
    return content


def _read_message(content: _Content, index: int, item: Fields) -> None:
    role = optional(item, "role", str) or "assistant"
    if role != "assistant":
        content.anomalies.append(f"output[{index}]: message of role {role!r:.60}")
        return
    phase = optional(item, "phase", str)
    content.has_final_phase |= phase == "final_answer"
    for number, part in enumerate(optional(item, "content", list) or []):
        kind = needed(part, "type", str)
        if kind == "output_text":
            text = optional(part, "text", str)
            if text is None:
                content.anomalies.append(f"output[{index}].content[{number}]: text is null")
            else:
                content.texts.append((index, number, phase, text))
        elif kind == "refusal":
            content.refusals.append(optional(part, "refusal", str) or "")
        else:
            content.anomalies.append(f"output[{index}].content[{number}]: part of type {kind!r:.60}")
