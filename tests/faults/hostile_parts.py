"""What a hostile server does to one trial, and what must be booked for it. A table of values."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import Any

from tests.faults.worlds import answer
from tests.loopback import Step, drip, drop, error_reply, hang, reply, response_body
from tests.plugin.boxes import KEY

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 400\r\n\r\n"
PLAIN = json.dumps(response_body("4242")).encode()
LIMIT = 16 * 1024 * 1024
ELSEWHERE = "http://127.0.0.2:9/v1/responses"
FAST = {"retry-after-ms": "1"}
RATE = ("rate_limit_exceeded", "requests")


@dataclass(frozen=True)
class Part:
    """``steps`` answer one trial, one per generation; then its end (or ``ambiguous``), and the text of an answer."""

    name: str
    steps: tuple[Step, ...]
    end: str
    text: str | None = None

    @property
    def sent(self) -> int:
        """How many generations the trial takes."""
        return len(self.steps)


def message(*texts: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "role": "assistant", "content": content, **fields}


def swapped(old: bytes, new: bytes) -> bytes:
    """The plain answer with one place of it replaced."""
    assert old in PLAIN
    return PLAIN.replace(old, new, 1)


def refusal() -> Step:
    content = [{"type": "refusal", "refusal": "I will not."}]
    return answer("", output=[{"type": "message", "role": "assistant", "content": content}])


def rate(**headers: str) -> Step:
    return error_reply(429, *RATE, {name.replace("_", "-"): value for name, value in headers.items()})


GOOD = answer("4242")
HTML = reply(b"<html><body>502 Bad Gateway</body></html>", 502, {"content-type": "text/html", **FAST})
STORM = error_reply(500, "server_error", "server_error", FAST)
BUSY = error_reply(503, "server_is_overloaded", "service_unavailable_error", FAST)

BROKEN = (
    Part("reset-before-the-head", (drop("reset", billed=True),), "ambiguous"),
    Part("closed-before-the-head", (drop(billed=True),), "ambiguous"),
    Part("reset-after-the-head", (drop("reset", after=HEAD, billed=True),), "ambiguous"),
    Part("half-a-head", (drop(after=HEAD[:40], billed=True),), "ambiguous"),
    Part("half-a-body", (drop(after=HEAD + PLAIN[:200], billed=True),), "ambiguous"),
    Part("no-http-at-all", (drop(after=b"\x00\xff garbage\r\n\r\n", billed=True),), "ambiguous"),
    Part("slow-drip-of-a-body", (drip(HEAD + b" " * 399 + b"x", pause_s=0.1),), "ambiguous"),
    Part("slow-drip-of-a-head", (drip(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 300, pause_s=0.1),), "ambiguous"),
    Part("hang", (hang(billed=True),), "ambiguous"),
    Part("hang-after-half-a-body", (hang(after=HEAD + PLAIN[:200], billed=True),), "ambiguous"),
)

UNREADABLE = (
    Part(
        "gzip-bomb", (reply(gzip.compress(bytes(50_000_000)), headers={"content-encoding": "gzip"}),), "decode_failure"
    ),
    Part("oversize", (reply(b" " * (LIMIT + 1)),), "decode_failure"),
    Part("html-page-with-200", (reply(b"<html>ok</html>", headers={"content-type": "text/html"}),), "decode_failure"),
    Part("no-json", (reply(b'{"id": "resp_1", "output": ['),), "decode_failure"),
    Part("empty-body", (reply(b""),), "decode_failure"),
    Part("a-list", (reply(b"[]"),), "decode_failure"),
    Part("duplicate-keys", (reply(swapped(b'"status"', b'"status": "completed", "status"')),), "decode_failure"),
    Part("nan", (reply(swapped(b"1.0", b"NaN")),), "decode_failure"),
    Part(
        "deep-nesting",
        (reply(swapped(b'"metadata": {}', b'"metadata": ' + b"[" * 200 + b"]" * 200)),),
        "decode_failure",
    ),
    Part("unpaired-surrogate", (reply(swapped(b"4242", b"\\ud800")),), "decode_failure"),
    Part("bad-utf-8", (reply(swapped(b"4242", b"\xff\xfe")),), "decode_failure"),
    Part("huge-number", (reply(swapped(b"1.0", b"9" * 2000)),), "decode_failure"),
    Part("text-of-a-wrong-type", (reply(swapped(b'"text": "4242"', b'"text": 4242')),), "decode_failure"),
    Part("unknown-status", (answer("4242", status="half_done"),), "decode_failure"),
    Part("queued", (answer("4242", status="queued"),), "decode_failure"),
)

REJECTED = (
    Part("error-object-with-200", (reply({"error": {"code": "server_error", "message": "no"}}),), "api_rejected"),
    Part("failed", (answer("", status="failed", error={"code": "server_error", "message": "no"}),), "api_rejected"),
    Part("cancelled", (answer("", status="cancelled"),), "api_rejected"),
    Part("redirect-to-another-host", (reply(b"", 307, {"location": ELSEWHERE}),), "api_rejected"),
    Part("bad-request", (error_reply(400, "invalid_prompt", "invalid_request_error"),), "api_rejected"),
    Part("storm-of-500", (STORM,) * 4, "api_rejected"),
    Part("storm-of-503", (BUSY,) * 4, "api_rejected"),
    Part("rate-limit-for-ever", (rate(retry_after_ms="1"),) * 4, "api_rejected"),
    Part("retry-after-an-hour", (rate(retry_after="3600"),), "api_rejected"),
)

RETRIED = (
    Part("html-page-with-502", (HTML, GOOD), "answered", "4242"),
    Part("one-500", (STORM, GOOD), "answered", "4242"),
    Part("slow-down", (error_reply(429, "slow_down", "requests", FAST), GOOD), "answered", "4242"),
    Part("retry-after-seconds", (rate(retry_after="0"), GOOD), "answered", "4242"),
    Part("retry-after-decimal", (rate(retry_after="0.01"), GOOD), "answered", "4242"),
    Part("retry-after-date", (rate(retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), GOOD), "answered", "4242"),
    Part("retry-after-negative", (rate(retry_after="-5"), GOOD), "answered", "4242"),
    Part("retry-after-absurd", (rate(retry_after="9" * 30), GOOD), "answered", "4242"),
    Part("retry-after-garbage", (rate(retry_after="soon"), GOOD), "answered", "4242"),
    Part("retry-after-nan", (rate(retry_after="NaN"), GOOD), "answered", "4242"),
)

OF_THE_MODEL = (
    Part("plain", (GOOD,), "answered", "4242"),
    Part("another-content-type", (answer("4242", headers={"content-type": "text/plain"}),), "answered", "4242"),
    Part("null-content", (answer("", output=[{**message(), "content": None}]),), "no_text"),
    Part("null-text", (reply(swapped(b'"text": "4242"', b'"text": null')),), "no_text"),
    Part("no-output", (answer("", output=[]),), "no_text"),
    Part("refusal", (refusal(),), "refusal"),
    Part("incomplete", (answer("42", status="incomplete", incomplete_details={"reason": "max_output_tokens"}),), "incomplete"),
    Part("cut-but-called-completed", (answer("42", output_tokens=64),), "incomplete"),
    Part("unknown-items", (answer("", output=[{"type": "tarot", "card": 1}, message("42"), {"type": "web_search_call"}, message("42")]),), "answered", "4242"),
    Part("phases", (answer("", output=[message("99", phase="commentary"), message("4242", phase="final_answer")]),), "answered", "4242"),
    Part("final-phase-first", (answer("", output=[message("4242", phase="final_answer"), message("99", phase="commentary")]),), "answered", "4242"),
    Part("no-usage", (answer("4242", usage=None),), "answered", "4242"),
    Part("impossible-usage", (answer("4242", usage={"input_tokens": -1, "output_tokens": 10**18}),), "answered", "4242"),
    Part("key-in-the-answer", (answer(f"4242 Bearer {KEY}"),), "answered"),
)  # fmt: skip

PARTS = (*BROKEN, *UNREADABLE, *REJECTED, *RETRIED, *OF_THE_MODEL)
