"""The client as a whole: one call is one HTTP attempt, on the right path, with the right body."""

import json

import httpx
import pytest

from bench.llm.body import body_bytes, generation_body
from bench.llm.credentials import Credentials
from bench.llm.decode import decode_generation
from bench.llm.model import ApiError, LlmClient, LlmRequest, LlmResponse, TextMessage, TransportError
from bench.llm.responses import GENERATE_PATH, ResponsesClient
from bench.llm.retry import classify
from bench.llm.transport import Transport
from tests.loopback import FAULTS, LoopbackServer, counted_input_tokens

REQUEST = LlmRequest("m", "Answer.", (TextMessage("user", "let x_a 1048\n日本語"),), 8192, reasoning_effort="low")


@pytest.fixture
def client_of():
    """Builds a client for a loopback server and closes it."""
    transports = []

    def build(server: LoopbackServer) -> ResponsesClient:
        transports.append(Transport(server.base_url, credentials=Credentials()))
        return ResponsesClient(transports[-1])

    yield build
    for transport in transports:
        transport.close()


def test_counting_and_generating_are_one_request_each(client_of):
    """8.5 and 8.4: the endpoints' own paths and schemas, and a count that agrees with the later usage."""
    with LoopbackServer(answer="5916") as server:
        client: LlmClient = client_of(server)
        tokens, answer = client.count_input_tokens(REQUEST), client.generate(REQUEST)
    count, generation = server.requests
    assert (count.path, generation.path) == ("/v1/responses/input_tokens", "/v1/responses")
    assert set(count.json()) == {"model", "instructions", "input"}
    assert generation.json() == generation_body(REQUEST)
    assert tokens == answer.usage.input_tokens == counted_input_tokens(generation.body)
    assert (answer.text, answer.request_id) == ("5916", "req_000001")


def test_the_bytes_sent_are_the_canonical_ones(client_of):
    """What was hashed in the plan is what the server receives."""
    with LoopbackServer() as server:
        client_of(server).generate(REQUEST)
    assert server.requests[0].body == body_bytes(generation_body(REQUEST))


def test_sending_and_decoding_apart_is_the_same_as_generating(client_of):
    """A caller that stores the answer in between loses nothing."""
    with LoopbackServer() as server:
        client = client_of(server)
        raw = client.send(GENERATE_PATH, body_bytes(generation_body(REQUEST)))
        stored = decode_generation(raw.body, http_status=raw.http_status, headers=raw.headers, request=REQUEST)
    assert isinstance(stored, LlmResponse)
    assert stored.raw_body == raw.body


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("drop", "ambiguous"),
        ("reset", "ambiguous"),
        ("rate", "retry"),
        ("500", "retry"),
        ("503", "retry"),
        ("quota", "session_stop"),
        ("key", "session_stop"),
        ("400", "session_stop"),
        ("garbage", "decode"),
    ],
)
def test_every_fault_is_a_value_of_its_class(client_of, fault, kind):
    """Nothing is raised and nothing is sent twice, whatever the server does."""
    with LoopbackServer(faults={1: fault}) as server:
        result = client_of(server).generate(REQUEST)
    assert classify(result) == kind
    assert server.received == 1


def test_the_fault_table_is_complete():
    """Each named fault but the ones that never end is tried above."""
    assert set(FAULTS) - {"hang", "drop-unbilled"} == {
        "drop", "reset", "rate", "500", "503", "quota", "key", "400", "garbage",
    }  # fmt: skip


def test_a_mock_transport_makes_the_same_client():
    """Offline modes use this client over an in-process transport."""
    sent = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(429, json={"error": {"code": "slow_down", "message": "M"}}, headers={"retry-after": "3"})

    mock = httpx.MockTransport(answer)
    with Transport("https://api.openai.com/v1", credentials=Credentials(), transport=mock) as transport:
        result = ResponsesClient(transport).generate(REQUEST)
    assert isinstance(result, ApiError)
    assert (result.code, result.retry_after, len(sent)) == ("slow_down", "3", 1)


def test_a_mock_may_break_like_a_network():
    """httpx's own exceptions are the language of a fake transport."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    def cut(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("cut", request=request)

    results = []
    for handler in (refuse, cut):
        mock = httpx.MockTransport(handler)
        with Transport("https://api.openai.com/v1", credentials=Credentials(), transport=mock) as transport:
            results.append(ResponsesClient(transport).count_input_tokens(REQUEST))
    assert results == [
        TransportError("ConnectError: refused", ambiguous_outcome=False),
        TransportError("ReadError: cut", ambiguous_outcome=True),
    ]


def test_neither_client_nor_transport_shows_more_than_the_address():
    """Their repr is what a traceback prints."""
    credentials = Credentials.from_environment({"OPENAI_API_KEY": "sk-sentinel-0123456789"})
    with Transport("https://api.openai.com/v1", credentials=credentials) as transport:
        assert repr(ResponsesClient(transport)) == "ResponsesClient(Transport('https://api.openai.com/v1'))"
