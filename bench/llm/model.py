"""What goes into one HTTP attempt and what can come out of it.

Values only: no I/O, no policy. A call never raises for what a server or a network did; it returns one of

    LlmResult
    ├── LlmResponse       the server answered with a Responses object (completed, incomplete, refused, …)
    └── LlmError
        ├── ApiError       the server answered, but not with an answer (4xx, 5xx, 3xx, 200 with an error object)
        ├── TransportError no whole response came back
        └── DecodeError    a response came back that cannot be read without guessing
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

Role = Literal["user", "assistant", "developer", "system"]


@dataclass(frozen=True, slots=True)
class TextMessage:
    """One input message of plain text. A role outside ``Role`` raises ``ValueError``."""

    role: Role
    content: str

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise ValueError(f"role {self.role!r}: expected one of {', '.join(get_args(Role))}")


@dataclass(frozen=True, slots=True)
class LlmRequest:
    """One independent request. ``None`` means that the field is not sent at all."""

    model: str
    instructions: str
    input: tuple[TextMessage, ...]
    max_output_tokens: int
    reasoning_effort: str | None = None
    temperature: float | None = None
    top_p: float | None = None


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Token counts as the server reported them. ``None`` is unknown, never 0."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    @property
    def billed_tokens(self) -> int:
        """What to book: the dearest reading, should the server's own sum and its parts disagree."""
        return max(self.total_tokens, self.input_tokens + self.output_tokens)


@dataclass(frozen=True, slots=True)
class RawResponse:
    """A whole HTTP answer, not yet read, in the form in which it may be stored.

    ``headers`` has lower-case names and only harmless ones. ``withheld`` says why ``body`` is empty although a body was
    sent: an error answer in an encoding or size that is not read (the status alone decides), or a gateway's page.
    ``redacted``: a known secret was masked. ``elapsed_s`` runs on the monotonic clock up to the last byte.
    """

    http_status: int
    headers: dict[str, str]
    body: bytes = field(repr=False)
    elapsed_s: float = 0.0
    withheld: str | None = None
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class LlmResponse:
    """A decoded Responses object.

    ``status`` is the server's own word. ``suspected_truncation`` is true where a server says ``completed`` although
    ``output_tokens >= max_output_tokens``. ``text`` joins the final answer's ``output_text`` parts (empty if none).
    ``parts`` tells where each piece of text came from: (output index, content index, phase or None, characters).
    ``anomalies`` are oddities kept as data (unknown items, impossible usage, unrequested tool calls).
    """

    response_id: str
    returned_model: str
    status: str
    text: str
    refusals: tuple[str, ...]
    incomplete_reason: str | None
    usage: TokenUsage | None
    request_id: str | None
    raw_body: bytes = field(repr=False)
    suspected_truncation: bool = False
    parts: tuple[tuple[int, int, str | None, int], ...] = ()
    anomalies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApiError:
    """The server answered with an error. ``retry_after`` is the raw header (``retry-after-ms`` wins, as "<n>ms").

    ``param`` is the request field the server blames; ``usage`` what it says it used all the same, ``None`` if unknown.
    """

    http_status: int
    code: str | None
    type: str | None
    message: str
    retry_after: str | None
    request_id: str | None
    raw_body: bytes = field(repr=False)
    param: str | None = None
    usage: TokenUsage | None = None


@dataclass(frozen=True, slots=True)
class TransportError:
    """No whole response came back. ``ambiguous_outcome``: the request may have left, so it may have been billed."""

    message: str
    ambiguous_outcome: bool


@dataclass(frozen=True, slots=True)
class DecodeError:
    """A whole response came back that cannot be read without guessing. ``usage`` is kept where that much was clear."""

    message: str
    http_status: int | None
    request_id: str | None
    raw_body: bytes = field(repr=False)
    usage: TokenUsage | None = None


LlmError = ApiError | TransportError | DecodeError
LlmResult = LlmResponse | LlmError


class LlmClient(Protocol):
    """Anything that can make one attempt. Implementations keep no retry of their own."""

    def generate(self, request: LlmRequest) -> LlmResult:
        """One generation attempt."""
        ...

    def count_input_tokens(self, request: LlmRequest) -> int | LlmError:
        """One counting attempt: the request's input tokens as the server counts them."""
        ...
