"""Redaction: known secrets never reach a file, and neither does a gateway's page."""

import json
from dataclasses import replace

import pytest

from bench.llm.model import RawResponse
from bench.llm.redact import MASK, Redactor, mask_account_ids, storable_headers

KEY = "sk-test/Ab+9"
REDACTOR = Redactor([KEY, "proj_secret"])


def raw(body: bytes, content_type: str = "application/json", **changes) -> RawResponse:
    return replace(RawResponse(200, {"content-type": content_type}, body), **changes)


@pytest.mark.parametrize(
    "spelling",
    [
        KEY,
        KEY.replace("/", "\\/"),
        "".join(f"\\u{ord(c):04x}" for c in KEY),
        "".join(f"\\u{ord(c):04X}" for c in KEY),
        "sk\\u002dtest\\/Ab\\u002b9",
    ],
)
def test_a_secret_is_masked_in_every_json_spelling(spelling):
    """A server that echoes the key may escape any character of it."""
    text = f'{{"message": "Incorrect API key: {spelling}!"}}'
    assert json.loads(text)["message"] == f"Incorrect API key: {KEY}!"
    assert REDACTOR.text(text) == (f'{{"message": "Incorrect API key: {MASK}!"}}', True)


def test_bytes_around_a_secret_stay_as_they_are():
    """Masking does not re-encode: broken UTF-8 and NULs survive."""
    data = b"\xff\x00" + KEY.encode() + b"\xe6\x97\xa5\r\n" + b"proj_secret"
    assert REDACTOR.bytes(data) == (b"\xff\x00" + MASK.encode() + b"\xe6\x97\xa5\r\n" + MASK.encode(), True)


def test_without_a_secret_nothing_is_touched():
    """The same object comes back, and no flag."""
    data = b'{"a": "\\u0073\\u006b\\/ sk-tes"}'
    masked, found = REDACTOR.bytes(data)
    assert masked is data
    assert not found


def test_a_secret_inside_another_does_not_shield_its_rest():
    """The longer one is masked first."""
    assert Redactor(["abcd", "abcdef"]).text("abcdef abcd") == (f"{MASK} {MASK}", True)


def test_an_empty_secret_masks_nothing():
    """No secret, no change."""
    assert Redactor([""]).text("text") == ("text", False)


def test_the_redactor_shows_no_secret():
    """Its repr says how many it knows."""
    assert repr(REDACTOR) == "Redactor(2 secrets)"


def test_only_harmless_headers_are_kept():
    """Cookies, account names and whatever a gateway adds stay out; rate limits stay."""
    sent = [
        ("Content-Type", "application/json"),
        ("X-Request-Id", "req_1"),
        ("x-ratelimit-remaining-tokens", "5"),
        ("Retry-After", "3"),
        ("Set-Cookie", "__cf_bm=secret"),
        ("openai-organization", "acme"),
        ("openai-project", "proj_1"),
        ("cf-ray", "8f"),
        ("X-Client-IP", "203.0.113.7"),
    ]
    assert set(storable_headers(sent)) == {
        "content-type", "x-request-id", "x-ratelimit-remaining-tokens", "retry-after",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html; charset=UTF-8", b"<!DOCTYPE html><p>Ray ID 8f, your IP 203.0.113.7"),
        ("application/json", b"\n <html>203.0.113.7</html>"),
        ("text/HTML", b"203.0.113.7"),
        ("", b"<?xml version='1.0'?><ip>203.0.113.7</ip>"),
    ],
)
def test_a_gateway_page_is_not_stored(content_type, body):
    """It shows the caller's address; what stays is its type, size and digest."""
    stored = REDACTOR.storable(raw(body, content_type, http_status=502))
    assert stored.body == b""
    assert f"{len(body)} bytes, sha256 " in stored.withheld
    assert stored.http_status == 502


def test_an_answer_is_stored_as_it_came():
    """Also one that is not JSON: a broken answer is evidence."""
    body = b'{"output": [{"text": "1 < 2"'
    assert REDACTOR.storable(raw(body)) == raw(body)


def test_storing_masks_body_and_headers_and_says_so():
    """The flag goes into the record."""
    answer = raw(f'{{"m":"{KEY}"}}'.encode(), headers={"content-type": "application/json", "x-request-id": KEY})
    stored = REDACTOR.storable(answer)
    assert (stored.body, stored.redacted) == (f'{{"m":"{MASK}"}}'.encode(), True)
    assert stored.headers["x-request-id"] == MASK
    assert not REDACTOR.storable(raw(b"{}")).redacted


def test_account_ids_that_nobody_sent_are_masked_in_messages():
    """403 and 401 texts quote a project id or most of a key."""
    text = "Project `proj_AbC123xyz` of org-Zz99887766 with sk-proj-abc***wxyz; not proj_ or task-1"
    assert mask_account_ids(text) == f"Project `{MASK}` of {MASK} with {MASK}; not proj_ or task-1"
