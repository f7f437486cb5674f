"""Decoding (8.4): tolerant where servers differ, strict where a meaning would be guessed."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.llm.decode import decode_count, decode_generation, decode_response, is_response_object
from bench.llm.model import ApiError, DecodeError, LlmRequest, LlmResponse, RawResponse, TokenUsage
from tests.llm.server_profiles import PROFILES, message
from tests.loopback import response_body

HEADERS = {"content-type": "application/json", "x-request-id": "req_1"}
REQUEST = LlmRequest("m", "i", (), 64)


def raw(body: object, status: int = 200, **headers: str) -> RawResponse:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return RawResponse(status, HEADERS | {name.replace("_", "-"): value for name, value in headers.items()}, data)


def decoded(body: object, status: int = 200, **headers: str):
    return decode_response(raw(body, status, **headers), max_output_tokens=64)


# answers


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_every_servers_answer_is_read_for_what_it_says(profile):
    """The table of profiles: the documented API and the deviations seen elsewhere."""
    answer = decoded(profile.body)
    assert isinstance(answer, LlmResponse), answer
    assert {name: getattr(answer, name) for name in profile.expected} == profile.expected


def test_an_answer_keeps_its_raw_bytes_and_ids():
    """The evidence: body as it came, request id, id and model."""
    body = json.dumps(response_body("5916", model="gpt-x"), indent=3).encode()
    answer = decoded(body)
    assert (answer.raw_body, answer.request_id) == (body, "req_1")
    assert (answer.response_id, answer.returned_model) == ("resp_000001", "gpt-x")


@pytest.mark.parametrize(
    ("status", "output_tokens", "suspected"),
    [("completed", 63, False), ("completed", 64, True), ("completed", 65, True), ("incomplete", 64, False)],
)
def test_completed_at_the_limit_is_suspected_truncation(status, output_tokens, suspected):
    """Servers that never say incomplete cut all the same."""
    answer = decoded(response_body("5", status=status, output_tokens=output_tokens))
    assert answer.suspected_truncation is suspected
    assert answer.status == status


# what cannot be read


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": None}, "status None"),
        ({"status": "queued"}, "status 'queued'"),
        ({"status": "in_progress"}, "status 'in_progress'"),
        ({"status": "perfect"}, "status 'perfect'"),
        ({"status": 7}, "status 7"),
        ({"status": ["completed"]}, "status ['completed']"),
        ({"object": "chat.completion"}, "object is 'chat.completion'"),
        ({"object": {}}, "object is {}"),
        ({"id": 5}, "'id'"),
        ({"model": ["m"]}, "'model'"),
        ({"output": None}, "'output' is missing"),
        ({"output": {}}, "'output'"),
        ({"output": "5916"}, "'output'"),
        ({"output": ["5916"]}, "expected an object"),
        ({"output": [{}]}, "'type' is missing"),
        ({"output": [{"type": 5}]}, "'type'"),
        ({"output": [{"type": "message", "role": "assistant", "content": "5916"}]}, "'content'"),
        ({"output": [{"type": "message", "role": 1, "content": []}]}, "'role'"),
        ({"output": [message("5", phase=1)]}, "'phase'"),
        ({"output": [message({"type": "output_text", "text": 5916})]}, "'text'"),
        ({"output": [message({"type": "output_text", "text": ["5"]})]}, "'text'"),
        ({"output": [message({"type": "refusal", "refusal": True})]}, "'refusal'"),
        ({"output": [message(5916)]}, "expected an object"),
        ({"incomplete_details": "max_output_tokens"}, "'incomplete_details'"),
        ({"incomplete_details": {"reason": 1}}, "'reason'"),
        ({"usage": 15}, "'usage'"),
        ({"usage": {"input_tokens": "10", "output_tokens": 5, "total_tokens": 15}}, "'input_tokens'"),
    ],
)
def test_a_wrong_type_or_an_unknown_status_is_a_decode_error(change, words):
    """The raw body stays; nothing is guessed from it."""
    body = response_body("5916", **change)
    answer = decoded(body)
    assert isinstance(answer, DecodeError)
    assert words in answer.message
    assert (answer.http_status, answer.request_id, answer.raw_body) == (200, "req_1", json.dumps(body).encode())


def test_an_unreadable_answer_still_says_what_it_cost():
    """The ledger can settle a queued answer that reports its usage."""
    assert decoded(response_body("5", status="queued")).usage.total_tokens == 15
    assert decoded(response_body("5", status="queued", usage=15)).usage is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b'"5916"',
        b"5916",
        b"<html></html>",
        b"data: {}\n\n",
        b'{"status": "completed", "output": [',
        b'{"status": "completed", "status": "completed", "output": []}',
        b'{"status": "completed", "output": [], "x": NaN}',
        b'{"status": "completed", "output": [], "x": "\\ud800"}',
        b'{"status": "completed", "output": [], "x": "\xff"}',
        b'{"status": "completed", "output": [], "x": ' + b"[" * 128 + b"]" * 128 + b"}",
        b'{"status": "completed", "output": [], "x": ' + b"1" * 1025 + b"}",
        b'{"status": "completed", "output": []} {}',
    ],
)
def test_what_is_not_one_strict_json_object_is_a_decode_error(data):
    """Every rule of strict JSON holds for answers."""
    answer = decoded(data)
    assert isinstance(answer, DecodeError)
    assert answer.raw_body == data


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value, path=()):
    """Every path into a JSON value."""
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from places(member, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


FULL = response_body("", output=[message("5", phase="final_answer"), message({"type": "refusal", "refusal": "n"})])


@given(st.sampled_from(list(places(FULL))), json_values, st.sampled_from([200, 400, 500]))
def test_no_body_crashes_the_decoder(path, value, status):
    """Whatever stands wherever, the result is one of the three values."""
    answer = decoded(replaced(FULL, path, value), status)
    assert isinstance(answer, LlmResponse | ApiError | DecodeError)


# errors


@pytest.mark.parametrize(
    ("body", "code", "kind", "message_text"),
    [
        (
            {"error": {"message": "M", "type": "invalid_request_error", "param": None, "code": "c"}},
            "c",
            "invalid_request_error",
            "M",
        ),
        ({"error": {"message": "M", "type": None, "code": None}}, None, None, "M"),
        ({"error": {"message": "M", "code": 400, "type": "BadRequestError"}}, "400", "BadRequestError", "M"),
        ({"error": {"message": "M", "code": 1.5, "type": True}}, None, None, "M"),
        ({"error": {"message": ["M", 1]}}, None, None, '["M",1]'),
        ({"error": "M"}, None, None, "M"),
        ({"object": "error", "message": "M", "type": "t", "code": 40}, "40", "t", "M"),
        ({"detail": "M"}, None, None, "M"),
        ({"detail": [{"loc": ["body", "x"], "msg": "M"}]}, None, None, '[{"loc":["body","x"],"msg":"M"}]'),
        ({"message": "M", "code": "c"}, "c", None, "M"),
        ({}, None, None, "HTTP 400 without an error object (application/json, 2 bytes)"),
        (b"upstream sent too big header", None, None, "HTTP 400 without an error object (application/json, 28 bytes)"),
        (b"", None, None, "HTTP 400 without an error object (application/json, 0 bytes)"),
        (b"[]", None, None, "HTTP 400 without an error object (application/json, 2 bytes)"),
    ],
)
def test_an_error_body_in_any_form_gives_code_type_and_message(body, code, kind, message_text):
    """Forms of the API, vLLM, FastAPI, old proxies and gateways."""
    answer = decoded(body, 400)
    assert isinstance(answer, ApiError)
    assert (answer.http_status, answer.code, answer.type, answer.message) == (400, code, kind, message_text)
    assert answer.request_id == "req_1"


@pytest.mark.parametrize("status", [301, 307, 308, 400, 401, 404, 409, 429, 500, 502, 503, 520])
def test_any_status_but_success_is_an_api_error(status):
    """Whatever its body says, even a whole answer."""
    answer = decoded(response_body("5916"), status)
    assert isinstance(answer, ApiError)
    assert answer.http_status == status


def test_the_blamed_parameter_is_kept():
    """The policy looks at it where the code is null."""
    assert decoded({"error": {"message": "M", "code": None, "param": "temperature"}}, 400).param == "temperature"


@pytest.mark.parametrize(
    ("headers", "raw_header"),
    [
        ({}, None),
        ({"retry_after": "20"}, "20"),
        ({"retry_after_ms": "250"}, "250ms"),
        ({"retry_after": "20", "retry_after_ms": "250"}, "250ms"),
    ],
)
def test_the_retry_headers_are_passed_on_raw(headers, raw_header):
    """The finer one wins; reading them is the policy's work."""
    assert decoded({"error": {}}, 429, **headers).retry_after == raw_header


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "over", "code": "server_error"}},
        response_body("5916", status="failed", error={"message": "over", "code": "server_error"}),
        response_body("5916", error={"message": "over", "code": "server_error"}),
    ],
)
def test_an_error_in_a_200_is_an_error(body):
    """Not an answer, not even an empty one; its cost is kept."""
    answer = decoded(body)
    assert isinstance(answer, ApiError)
    assert (answer.http_status, answer.code, answer.message) == (200, "server_error", "over")
    assert (answer.usage is None) == ("usage" not in body)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_failed_answer_without_an_error_object_says_its_status(status):
    """The word of the server is the message."""
    assert decoded(response_body("5916", status=status)).message == f"HTTP 200 with status {status!r}"


def test_account_ids_in_messages_are_masked_and_long_messages_cut():
    """The message goes into reports; the body is kept apart."""
    answer = decoded({"error": {"message": "Project `proj_abcdef123` " + "x" * 5000}}, 403)
    assert answer.message.startswith("Project `[redacted]` ")
    assert len(answer.message) == 2000


# counting


def test_a_count_is_the_input_tokens():
    """8.5."""
    assert decode_count(raw({"object": "response.input_tokens", "input_tokens": 1234})) == 1234
    assert decode_count(raw({"input_tokens": 0})) == 0


@pytest.mark.parametrize("tokens", [None, -1, "12", 12.0, True, [12]])
def test_what_is_no_count_is_a_decode_error(tokens):
    """A reservation is made from it: exact integers only."""
    assert isinstance(decode_count(raw({"object": "response.input_tokens", "input_tokens": tokens})), DecodeError)


def test_a_count_that_failed_is_an_api_error():
    """405 where the server does not count, and an error inside a 200."""
    assert decode_count(raw({"detail": "Method Not Allowed"}, 405)).http_status == 405
    assert decode_count(raw({"error": "no"})).message == "no"
    assert isinstance(decode_count(raw(response_body("5"))), DecodeError)


# recovery


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_a_stored_answer_is_read_as_when_it_came(profile):
    """With its status known or lost, the result is the same."""
    data = json.dumps(profile.body).encode()
    live = decoded(data)
    assert decode_generation(data, http_status=200, headers=HEADERS, request=REQUEST) == live
    if profile.body.get("object"):
        assert decode_generation(data, http_status=None, headers=HEADERS, request=REQUEST) == live


@pytest.mark.parametrize("body", [b"", b"{}", b'{"error": {"code": "x"}}', b"<html>", b"[1]", b'{"object": "response"'])
def test_with_the_status_lost_only_a_responses_object_is_an_answer(body):
    """Anything else stays in doubt: was it a 200 or a 500?"""
    answer = decode_generation(body, http_status=None, headers={}, request=REQUEST)
    assert answer == DecodeError("status lost, and the body is no Responses object", None, None, body)
    assert not is_response_object(body)


def test_a_stored_error_is_read_as_when_it_came():
    """Status and headers from the record, body from the file."""
    data = json.dumps({"error": {"code": "slow_down", "message": "M"}}).encode()
    headers = HEADERS | {"retry-after": "3"}
    stored = decode_generation(data, http_status=429, headers=headers, request=REQUEST)
    assert stored == decoded(data, 429, retry_after="3")


def test_a_withheld_page_is_described():
    """A page that was not stored is an error with a description, never a crash."""
    page = replace(raw(b"", 502), withheld="text/html, 5123 bytes, sha256 00")
    assert "text/html, 5123 bytes" in decode_response(page, max_output_tokens=64).message
    assert "text/html, 5123 bytes" in decode_response(replace(page, http_status=200), max_output_tokens=64).message


def test_usage_reaches_the_response():
    """All six counts of a documented answer."""
    details = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 7, "cache_write_tokens_details": {}},
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 130,
    }
    assert decoded(response_body("5", usage=details)).usage == TokenUsage(100, 30, 130, 64, 7, 20)
