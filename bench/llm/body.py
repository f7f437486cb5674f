"""Request bodies: exactly the fields of sections 8.4 and 8.5, and the bytes that are both hashed and sent.

A setting that is ``None`` has no field. No other parameter is ever sent: no tools, no conversation, no metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.wire.canonical import canonical_with_floats

if TYPE_CHECKING:
    from bench.llm.model import LlmRequest


def generation_body(request: LlmRequest) -> dict[str, Any]:
    """The body of ``POST /responses`` (section 8.4).

    ``stream`` and ``store`` are sent although false: some servers stream, and the API stores, when they are absent.
    """
    body = count_body(request) | {
        "max_output_tokens": request.max_output_tokens,
        "store": False,
        "stream": False,
        "truncation": "disabled",
    }
    if request.reasoning_effort is not None:
        body["reasoning"] = {"effort": request.reasoning_effort}
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.top_p is not None:
        body["top_p"] = request.top_p
    return body


def count_body(request: LlmRequest) -> dict[str, Any]:
    """The body of ``POST /responses/input_tokens`` (section 8.5): nothing that only steers generation."""
    return {
        "model": request.model,
        "instructions": request.instructions,
        "input": [{"role": message.role, "content": message.content} for message in request.input],
    }


def body_bytes(body: dict[str, Any]) -> bytes:
    """The RFC 8785 bytes of a body.

    Raises:
        CanonicalError: for text with unpaired surrogates or a setting that is no finite number.
    """
    return canonical_with_floats(body)
