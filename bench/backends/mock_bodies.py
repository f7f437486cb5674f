"""Responses bodies that say of themselves that they are synthetic. Pure: values in, JSON values out."""

from __future__ import annotations

from typing import Any

from bench.backends.mock_rates import draw

SYNTHETIC = "synthetic_mock"
CREATED_AT = 1_790_000_000
MAX_REASONING_TOKENS = 160


def input_tokens(asked: dict[str, Any]) -> int:
    """The stand-in for a tokenizer, the same for counting and generating: a token per four bytes, four per message."""
    messages = asked.get("input") or []
    texts = [str(asked.get("instructions") or ""), *(str(message.get("content")) for message in messages)]
    return 3 + sum(4 + (len(text.encode()) + 3) // 4 for text in texts)


def count_body(asked: dict[str, Any]) -> dict[str, Any]:
    """The answer of the counting endpoint."""
    return {"object": "response.input_tokens", "input_tokens": input_tokens(asked), SYNTHETIC: True}


def answer_body(asked: dict[str, Any], text: str, *, key: str) -> dict[str, Any]:
    """A completed Responses object with ``text`` as its final answer (no message at all if it is empty).

    ``key`` names the attempt: ids and reasoning tokens are functions of it. Reasoning is part of the output tokens.
    """
    name = f"synthetic_{draw(1 << 62, key, 'id'):016x}"
    reasoning = draw(MAX_REASONING_TOKENS, key, "reasoning") if asked.get("reasoning") else 0
    ceiling = int(asked.get("max_output_tokens", 1 << 20)) - 1
    written = min(max(1, (len(text.encode()) + 2) // 3), ceiling)
    reasoning = min(reasoning, ceiling - written)
    output: list[dict[str, Any]] = [{"id": f"rs_{name}", "type": "reasoning", "summary": []}] if reasoning else []
    if text:
        output.append(_message(name, {"type": "output_text", "text": text, "annotations": []}))
    return {
        "id": f"resp_{name}",
        "object": "response",
        "created_at": CREATED_AT,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": f"synthetic-mock of {asked.get('model')}",
        "output": output,
        "parallel_tool_calls": False,
        "store": False,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": _usage(input_tokens(asked), written + reasoning, reasoning),
        "metadata": {SYNTHETIC: "true"},
    }


def refusal_body(asked: dict[str, Any], refusal: str, *, key: str) -> dict[str, Any]:
    """A completed object whose message is a refusal."""
    body = answer_body(asked, refusal, key=key)
    name = body["id"].removeprefix("resp_")
    return body | {"output": [_message(name, {"type": "refusal", "refusal": refusal})]}


def truncated_body(asked: dict[str, Any], text: str, *, key: str, admits: bool) -> dict[str, Any]:
    """An answer cut at the output limit, which the server says (status incomplete) or, as some do, does not."""
    limit = int(asked.get("max_output_tokens", 16))
    reasoning = 0 if not asked.get("reasoning") else limit // 2
    body = answer_body(asked, text, key=key) | {"usage": _usage(input_tokens(asked), limit, reasoning)}
    if not admits:
        return body
    return body | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


def failed_body(asked: dict[str, Any], *, key: str) -> dict[str, Any]:
    """HTTP 200 with a response that failed."""
    error = {"code": "server_error", "message": "synthetic failure"}
    return answer_body(asked, "", key=key) | {"status": "failed", "error": error, "usage": None}


def error_body(code: str, kind: str) -> dict[str, Any]:
    """An error in the API's own form."""
    return {"error": {"message": f"{code} (synthetic)", "type": kind, "param": None, "code": code}}


def _message(name: str, part: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"msg_{name}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _usage(used_input: int, used_output: int, reasoning: int) -> dict[str, Any]:
    return {
        "input_tokens": used_input,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": used_output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": used_input + used_output,
    }
