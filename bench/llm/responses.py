"""The client of a Responses server: one method call is one HTTP attempt, and its outcome is a value.

No retry, no waiting, no budget: the caller decides. Reading an answer is in ``decode``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.llm.body import body_bytes, count_body, generation_body
from bench.llm.decode import decode_count, decode_generation, decode_response
from bench.llm.model import RawResponse

if TYPE_CHECKING:
    from bench.llm.model import DecodeError, LlmError, LlmRequest, LlmResult, TransportError
    from bench.llm.transport import Transport

__all__ = ["COUNT_PATH", "GENERATE_PATH", "ResponsesClient", "decode_count", "decode_generation", "decode_response"]

GENERATE_PATH = "/responses"
COUNT_PATH = "/responses/input_tokens"


class ResponsesClient:
    """Implements ``LlmClient`` over one transport."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def __repr__(self) -> str:
        return f"ResponsesClient({self.transport!r})"

    def send(self, path: str, body: bytes) -> RawResponse | TransportError | DecodeError:
        """One attempt, not decoded: for a caller that stores the answer before it reads it."""
        return self.transport.post(path, body)

    def generate(self, request: LlmRequest) -> LlmResult:
        """One generation attempt."""
        raw = self.send(GENERATE_PATH, body_bytes(generation_body(request)))
        if not isinstance(raw, RawResponse):
            return raw
        return decode_response(raw, max_output_tokens=request.max_output_tokens)

    def count_input_tokens(self, request: LlmRequest) -> int | LlmError:
        """One counting attempt: the request's input tokens as the server counts them."""
        raw = self.send(COUNT_PATH, body_bytes(count_body(request)))
        return decode_count(raw) if isinstance(raw, RawResponse) else raw
