"""The transport on real sockets: what is sent, what is refused, and where it never goes."""

import gzip

import httpx
import pytest

from bench.llm.credentials import Credentials
from bench.llm.endpoint import EndpointError
from bench.llm.model import DecodeError, RawResponse
from bench.llm.transport import Transport, TransportLimits
from tests.loopback import LoopbackServer, Step, drip, reply

KEY = "sk-sentinel-0123456789"
ENV = {"OPENAI_API_KEY": KEY, "OPENAI_PROJECT": "proj_sentinel", "OPENAI_ORGANIZATION": "org-sentinel"}
KEYED = Credentials.from_environment(ENV)
PATH = "/responses"
SMALL = TransportLimits(max_body_bytes=1000, deadline_s=20)


def post(server: LoopbackServer, *, body: bytes = b"{}", limits: TransportLimits = SMALL, credentials=KEYED):
    with Transport(server.base_url, credentials=credentials, limits=limits) as transport:
        return transport.post(PATH, body)


# what is sent


def test_the_bytes_given_are_the_bytes_sent():
    """One POST to base URL + path, with the credentials' three headers and identity encoding."""
    with LoopbackServer([reply(b'{"a": 1}')]) as server:
        answer = post(server, body=b'{"prompt":"\xe6\x97\xa5"}')
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("POST", "/v1/responses", b'{"prompt":"\xe6\x97\xa5"}')
    assert {name: value for name, value in request.headers if name not in ("host", "user-agent")} == {
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "content-length": "16",
        "authorization": f"Bearer {KEY}",
        "openai-project": "proj_sentinel",
        "openai-organization": "org-sentinel",
    }
    assert (answer.http_status, answer.body, answer.withheld) == (200, b'{"a": 1}', None)


def test_an_absent_credential_has_no_header():
    """8.3: no value, no header; not an empty one."""
    with LoopbackServer([reply({})]) as server:
        post(server, credentials=Credentials())
    names = {name for name, _ in server.requests[0].headers}
    assert names.isdisjoint({"authorization", "openai-project", "openai-organization"})


def test_the_connection_is_kept_and_cookies_are_not():
    """Two attempts share one connection; a cookie set by a gateway is neither sent back nor reported."""
    first = reply({}, headers={"set-cookie": "__cf_bm=x; Path=/", "x-request-id": "req_1"})
    with LoopbackServer([first, reply({})]) as server, Transport(server.base_url, credentials=KEYED) as transport:
        answer = transport.post(PATH, b"{}")
        transport.post(PATH, b"{}")
    assert server.connections == 1
    assert server.requests[1].header("cookie") is None
    assert answer.headers == {"content-type": "application/json", "x-request-id": "req_1"}


@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
def test_an_error_status_is_one_request(status):
    """No retry is hidden in the transport: the server has one step, and a second request would fail the test."""
    with LoopbackServer([reply({"error": {}}, status, {"retry-after": "0"})]) as server:
        answer = post(server)
    assert answer.http_status == status


# what is not read


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "deflate", "br", "zstd", "x-unknown"])
def test_an_encoded_answer_is_refused_unread(encoding):
    """Identity was asked for; decompression is where 500 bytes become 200 MB."""
    bomb = gzip.compress(gzip.compress(bytes(10_000_000)))
    with LoopbackServer([reply(bomb, headers={"content-encoding": encoding, "x-request-id": "req_1"})]) as server:
        answer = post(server, limits=TransportLimits(deadline_s=20))
    assert isinstance(answer, DecodeError)
    assert encoding in answer.message
    assert (answer.http_status, answer.request_id, answer.raw_body) == (200, "req_1", b"")


def test_a_body_marked_identity_is_a_plain_body():
    """Identity is no encoding: a paid answer is not thrown away for saying so."""
    with LoopbackServer([reply(b"{}", headers={"content-encoding": "identity"})]) as server:
        assert post(server).body == b"{}"


def test_an_encoded_error_page_keeps_its_status():
    """The status alone says whether to try again; the page is not decoded for it."""
    page = reply(gzip.compress(b"busy"), 503, {"content-encoding": "gzip", "retry-after": "7"})
    with LoopbackServer([page]) as server:
        answer = post(server)
    assert (answer.http_status, answer.body, answer.headers["retry-after"]) == (503, b"", "7")
    assert "gzip" in answer.withheld


def test_a_body_of_exactly_the_limit_is_read_and_one_byte_more_is_not():
    """The cap counts the bytes on the wire."""
    with LoopbackServer([reply(b"x" * 1000), reply(b"x" * 1001)]) as server:
        whole, refused = post(server), post(server)
    assert whole.body == b"x" * 1000
    assert isinstance(refused, DecodeError)
    assert refused.raw_body == b""


def test_the_default_limit_is_16_mib():
    """A length beyond it is refused before the first body byte."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (16 * 1024 * 1024 + 1)
    with LoopbackServer([Step((head,), then="hang")]) as server:
        answer = post(server, limits=TransportLimits())
    assert isinstance(answer, DecodeError)
    assert "16777217 bytes" in answer.message


def chunked(*sizes: int) -> Step:
    chunks = b"".join(b"%x\r\n%s\r\n" % (size, b"x" * size) for size in sizes)
    return Step((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,), then="hang")


def test_a_body_without_a_length_is_capped_while_it_is_read():
    """A chunked stream that never ends is left at the cap, and its connection is not used again."""
    with (
        LoopbackServer([chunked(600, 600), reply({})]) as server,
        Transport(server.base_url, credentials=KEYED, limits=SMALL) as transport,
    ):
        refused, next_one = transport.post(PATH, b"{}"), transport.post(PATH, b"{}")
    assert isinstance(refused, DecodeError)
    assert isinstance(next_one, RawResponse)
    assert server.connections == 2


def test_an_oversized_error_page_keeps_its_status():
    """A 502 with a huge page is a 502."""
    with LoopbackServer([reply(b"x" * 2000, 502)]) as server:
        answer = post(server)
    assert (answer.http_status, answer.body) == (502, b"")


@pytest.mark.parametrize(
    ("step", "connections"),
    [
        (reply(b"x" * 2000), 2),
        (reply(gzip.compress(b"x"), headers={"content-encoding": "gzip"}), 2),
        (reply(b"x", 500), 1),
        (drip(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", 0, 100), 2),
    ],
    ids=["oversize", "encoded", "error", "cut"],
)
def test_an_answer_not_read_to_its_end_closes_its_connection(step, connections):
    """The rest of a refused answer can never be taken for the head of the next."""
    with (
        LoopbackServer([step, reply(b'{"fresh": true}')]) as server,
        Transport(server.base_url, credentials=KEYED, limits=SMALL) as transport,
    ):
        transport.post(PATH, b"{}")
        answer = transport.post(PATH, b"{}")
    assert answer.body == b'{"fresh": true}'
    assert server.connections == connections


# where it never goes


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_and_is_not_followed(status):
    """The other host gets no request: it would carry project, organisation and prompt."""
    with LoopbackServer([]) as other:
        redirect = reply({}, status, {"location": f"http://localhost:{other.port}/v1/responses"})
        with LoopbackServer([redirect]) as server:
            answer = post(server)
    assert answer.http_status == status
    assert other.received == 0


def test_proxy_variables_are_not_read(monkeypatch):
    """HTTP_PROXY would receive the key of a plain HTTP loopback request."""
    with LoopbackServer([]) as proxy, LoopbackServer([reply({})]) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        answer = post(server)
    assert answer.http_status == 200
    assert proxy.connections == 0


def test_netrc_is_not_read(monkeypatch, tmp_path):
    """No password of the user's is attached to a request without a key."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with LoopbackServer([reply({})]) as server:
        post(server, credentials=Credentials())
    assert server.requests[0].header("authorization") is None


def test_loopback_never_takes_the_proxy():
    """Even an explicit proxy is for the network."""
    with LoopbackServer([]) as proxy, LoopbackServer([reply({})]) as server:
        url = f"http://127.0.0.1:{proxy.port}"
        with Transport(server.base_url, credentials=KEYED, proxy=url) as transport:
            answer = transport.post(PATH, b"{}")
    assert answer.http_status == 200
    assert proxy.connections == 0


def test_an_explicit_proxy_is_used_for_another_host():
    """It is asked for the absolute URL."""
    with LoopbackServer([reply({})]) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        with Transport("http://models.invalid/v1", credentials=Credentials(), proxy=url) as transport:
            answer = transport.post(PATH, b"{}")
    assert answer.http_status == 200
    assert proxy.requests[0].path == "http://models.invalid/v1/responses"


def test_a_proxy_never_sees_the_key_of_an_https_request():
    """It gets a CONNECT and nothing more; its refusal proves that nothing was sent."""
    with LoopbackServer([reply(b"no", 403)]) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        with Transport("https://models.invalid/v1", credentials=KEYED, proxy=url) as transport:
            answer = transport.post(PATH, b"{}")
    (request,) = proxy.requests
    assert (request.method, request.path) == ("CONNECT", "models.invalid:443")
    assert "sentinel" not in repr(request.headers)
    assert not answer.ambiguous_outcome


def test_a_key_is_not_sent_by_plain_http():
    """The rule of the base URL holds before any socket is opened, mock transport or not."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200))
    with pytest.raises(EndpointError):
        Transport("http://127.0.0.1.evil.example/v1", credentials=KEYED, transport=transport)


# what leaves the transport may be stored


def test_an_echoed_key_is_masked_and_noted():
    """A server that repeats the Authorization header does not get it into a file."""

    def echo(request) -> Step:
        return reply({"error": {"message": f"bad {request.header('authorization')}"}}, 401)

    with LoopbackServer([echo]) as server:
        answer = post(server)
    assert KEY.encode() not in answer.body
    assert answer.redacted
    assert b"bad Bearer [redacted]" in answer.body


def test_a_gateway_page_stays_outside():
    """Its bytes never leave the transport, its digest does."""
    page = reply(b"<html>Your IP: 203.0.113.7</html>", 502, {"content-type": "text/html"})
    with LoopbackServer([page]) as server:
        answer = post(server)
    assert (answer.http_status, answer.body) == (502, b"")
    assert "sha256" in answer.withheld


def test_a_mock_transport_passes_the_same_way():
    """An in-process transport needs no socket, and its answers are read like any other."""
    mock = httpx.MockTransport(lambda request: httpx.Response(200, json={"url": str(request.url)}))
    with Transport("https://api.openai.com/v1/", credentials=KEYED, transport=mock) as transport:
        assert transport.post(PATH, b"{}").body == b'{"url":"https://api.openai.com/v1/responses"}'
