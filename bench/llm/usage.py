"""Token usage as a server reports it, checked: money is booked on these numbers.

Unknown stays unknown: a missing detail is ``None``, never 0, and impossible numbers are no numbers.
"""

from __future__ import annotations

from typing import Any

from bench.llm.model import TokenUsage
from bench.llm.wire_fields import WrongShapeError, optional

_MAX_COUNT = 2**63 - 1


def read_usage(body: dict[str, Any]) -> tuple[TokenUsage | None, list[str]]:
    """The usage of a Responses object and what is odd about it; ``None`` if absent, incomplete or impossible.

    Raises:
        WrongShapeError: for a count that is a string, a boolean or a decimal.
    """
    fields = optional(body, "usage", dict)
    if fields is None:
        return None, []
    input_details = optional(fields, "input_tokens_details", dict) or {}
    output_details = optional(fields, "output_tokens_details", dict) or {}
    required = [optional(fields, name, int) for name in ("input_tokens", "output_tokens", "total_tokens")]
    details = [
        optional(input_details, "cached_tokens", int),
        optional(input_details, "cache_write_tokens", int),
        optional(output_details, "reasoning_tokens", int),
    ]
    counts = [count for count in required if count is not None]
    if len(counts) < len(required):
        return None, ["usage without all of input_tokens, output_tokens, total_tokens"]
    if any(not 0 <= count <= _MAX_COUNT for count in (*counts, *details) if count is not None):
        return None, ["usage with a count below 0 or beyond 2^63 - 1"]
    if not any(counts):
        return None, ["usage of 0 tokens"]  # a request has input: the server did not count
    usage = TokenUsage(*counts, *details)
    return usage, _contradictions(usage)


def usage_if_readable(body: dict[str, Any]) -> TokenUsage | None:
    """The usage of an answer that is an error anyway, ``None`` where it cannot be read."""
    try:
        return read_usage(body)[0]
    except WrongShapeError:
        return None


def _contradictions(usage: TokenUsage) -> list[str]:
    found = []
    if usage.total_tokens != usage.input_tokens + usage.output_tokens:
        found.append("usage: total_tokens is not input_tokens + output_tokens")
    if (usage.cached_input_tokens or 0) + (usage.cache_write_tokens or 0) > usage.input_tokens:
        found.append("usage: more cached than input tokens")
    if (usage.reasoning_tokens or 0) > usage.output_tokens:
        found.append("usage: more reasoning than output tokens")
    return found
