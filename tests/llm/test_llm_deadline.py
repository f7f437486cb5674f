"""Time and broken connections on real sockets: the total deadline, and whether the request may have been billed."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from bench.llm.credentials import Credentials
from bench.llm.model import TransportError
from bench.llm.transport import Transport, TransportLimits
from tests.loopback import LoopbackServer, Step, drip, drop, hang, reply

PATH = "/responses"
SHORT = TransportLimits(deadline_s=0.25)
AMPLE = TransportLimits(deadline_s=20)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def post(base_url: str, limits: TransportLimits = AMPLE, **options):
    with Transport(base_url, credentials=Credentials(), limits=limits, **options) as transport:
        return transport.post(PATH, b'{"input":"x"}')


# each of these would end well after 1.2 s or more if only single reads were limited
DRIPS = {
    "body": drip(HEAD + b"Content-Length: 40\r\n\r\n" + b" " * 40, 0.03),
    "chunked body": drip(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 40 + b"0\r\n\r\n", 0.03, 6),
    "head": drip(HEAD + b"X-Slow: " + b"y" * 40 + b"\r\nContent-Length: 2\r\n\r\n{}", 0.03),
    "interim answers": drip(b"HTTP/1.1 100 Continue\r\n\r\n" * 40 + HEAD + b"Content-Length: 2\r\n\r\n{}", 0.03, 25),
    "error page": drip(b"HTTP/1.1 503 Busy\r\nContent-Length: 40\r\n\r\n" + b" " * 40, 0.03),
    "silence": Step((b"", HEAD + b"Content-Length: 2\r\n\r\n{}"), pause_s=1.5, then="close"),
}


@pytest.mark.parametrize("step", DRIPS.values(), ids=DRIPS)
def test_the_total_deadline_ends_a_slow_drip(step):
    """No single read waits long; the whole does, and the request may have been billed."""
    with LoopbackServer([step]) as server:
        answer = post(server.base_url, SHORT)
    assert answer == TransportError("no whole answer within the total deadline of 0.25 s", ambiguous_outcome=True)


def test_a_slow_answer_within_the_deadline_is_an_answer():
    """The same drip, given time."""
    with LoopbackServer([drip(HEAD + b"Content-Length: 2\r\n\r\n{}", 0.01, 8)]) as server:
        assert post(server.base_url).body == b"{}"


class Clock:
    """Monotonic time that advances by ``step_s`` each time it is asked."""

    def __init__(self, step_s: float) -> None:
        self.now_s, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


def test_each_request_has_its_own_deadline():
    """Twenty requests of a few ticks each fit under a deadline of 60 ticks: none inherits what the last one left."""
    limits = TransportLimits(deadline_s=60, monotonic=Clock(1))
    with (
        LoopbackServer() as server,
        Transport(server.base_url, credentials=Credentials(), limits=limits) as transport,
    ):
        statuses = [transport.post(PATH, b"{}").http_status for _ in range(20)]
    assert statuses == [200] * 20
    assert limits.monotonic() > 60


def test_a_connection_has_15_seconds_of_its_own():
    """Connecting is bounded apart from the total, over all addresses of a host; nothing was sent then."""
    with LoopbackServer([]) as server:
        answer = post(server.base_url, TransportLimits(monotonic=Clock(16)))
    assert answer == TransportError(f"ConnectTimeout: no connection to 127.0.0.1:{server.port} in time", False)


def test_the_deadline_may_pass_between_any_two_steps():
    """Found too late at a connect, a write or a read, it is the same outcome and never an exception."""
    with LoopbackServer() as server:
        answers = [
            post(server.base_url, TransportLimits(deadline_s=ticks, connect_s=99, monotonic=Clock(1)))
            for ticks in range(1, 15)
        ]
    late = [answer for answer in answers if isinstance(answer, TransportError)]
    assert {answer.message.partition(" of ")[0] for answer in late} == {"no whole answer within the total deadline"}
    assert [answer.ambiguous_outcome for answer in late] == sorted(answer.ambiguous_outcome for answer in late)
    assert 4 < len(late) < 14
    assert answers[-1].http_status == 200


def test_a_mock_that_streams_for_ever_meets_the_deadline_too():
    """The deadline does not depend on sockets."""

    class Endless(httpx.SyncByteStream):
        def __iter__(self):
            while True:
                yield b" "

    mock = httpx.MockTransport(lambda _: httpx.Response(200, stream=Endless()))
    answer = post("http://127.0.0.1/v1", TransportLimits(monotonic=Clock(1)), transport=mock)
    assert answer.ambiguous_outcome


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.mark.parametrize(
    "host", ["127.0.0.1:{port}", "localhost:{port}", "no-such-host.invalid", "a" * 64 + ".example", "[::1]:{port}"]
)
def test_no_connection_means_nothing_was_sent(host):
    """Refused, no such name, no such address: certainly not billed."""
    answer = post(f"http://{host.format(port=unused_port())}/v1")
    assert isinstance(answer, TransportError)
    assert not answer.ambiguous_outcome


def test_a_failed_tls_handshake_means_nothing_was_sent():
    """The request travels only after the handshake."""
    with LoopbackServer([]) as server:
        url = server.base_url.replace("http:", "https:")
        answer = post(url, TransportLimits(deadline_s=20, connect_s=0.25))
    assert (answer.ambiguous_outcome, server.received) == (False, 0)


WHOLE = HEAD + b"Content-Length: 20\r\n\r\n"
BROKEN = {
    "closed before the answer": drop(billed=True),
    "reset before the answer": drop("reset", billed=True),
    "closed in the head": drop(after=HEAD),
    "closed in the body": drop(after=WHOLE + b'{"a":'),
    "reset in the body": drop("reset", after=WHOLE + b'{"a":'),
    "chunk cut short": drop(after=HEAD + b"Transfer-Encoding: chunked\r\n\r\n10\r\nabc"),
    "chunks without an end": drop(after=HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"),
    "not HTTP": drop(after=b"SSH-2.0-OpenSSH_9.6\r\n\r\n"),
    "head without end": drop(after=b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"b" * 200_000),
    "two lengths": drop(after=HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
}


@pytest.mark.parametrize("step", BROKEN.values(), ids=BROKEN)
def test_a_break_after_the_request_left_is_ambiguous(step):
    """It may have been billed: there is no idempotency on this endpoint. And it is sent only once."""
    with LoopbackServer([step]) as server:
        answer = post(server.base_url)
    assert isinstance(answer, TransportError)
    assert answer.ambiguous_outcome
    assert server.received == 1


def test_a_server_that_never_answers_is_ambiguous():
    """It has the request."""
    with LoopbackServer([hang(billed=True)]) as server:
        answer = post(server.base_url, SHORT)
    assert (answer.ambiguous_outcome, server.generations) == (True, 1)


def test_after_a_break_the_next_request_gets_a_fresh_connection():
    """A broken connection does not stay in the pool."""
    with (
        LoopbackServer([drop("reset"), reply({})]) as server,
        Transport(server.base_url, credentials=Credentials()) as transport,
    ):
        transport.post(PATH, b"{}")
        assert transport.post(PATH, b"{}").http_status == 200


# how the request leaves: servers that look at packets, not at requests


@contextlib.contextmanager
def peer(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server whose one connection is handled by ``talk``; gives the base URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"

        def serve() -> None:
            connection, _ = listener.accept()
            listener.close()
            with connection:
                talk(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield base_url
        thread.join(10)
        assert not thread.is_alive()


def test_head_and_body_leave_together():
    """One packet, so that the server wakes up once for each request."""
    packets = []

    def talk(connection: socket.socket) -> None:
        packets.append(connection.recv(1 << 16))
        connection.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")

    with peer(talk) as base_url:
        assert post(base_url).body == b"{}"
    assert packets[0].startswith(b"POST /v1/responses HTTP/1.1\r\n")
    assert packets[0].endswith(b'\r\n\r\n{"input":"x"}')


def test_the_total_deadline_ends_a_request_that_is_read_slowly():
    """A server that takes the body in sips outlives every single write, not the whole; it may have understood enough."""
    over = threading.Event()

    def sip(connection: socket.socket) -> None:
        with contextlib.suppress(ConnectionError):
            while not over.wait(0.02) and connection.recv(1 << 18):
                pass

    with peer(sip) as base_url, Transport(base_url, credentials=Credentials(), limits=SHORT) as transport:
        started = time.monotonic()
        answer = transport.post(PATH, b" " * (1 << 26))
        seconds = time.monotonic() - started
        over.set()
    assert answer == TransportError("no whole answer within the total deadline of 0.25 s", ambiguous_outcome=True)
    assert seconds < 2


def test_an_answer_given_before_the_body_was_read_is_an_answer():
    """A gateway may refuse by the head alone and hang up; its connection is not used again."""
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}"

    def refuse(connection: socket.socket) -> None:
        connection.recv(1 << 10)
        connection.sendall(refusal)
        connection.shutdown(socket.SHUT_WR)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with peer(refuse) as base_url, Transport(base_url, credentials=Credentials(), limits=AMPLE) as transport:
        answer = transport.post(PATH, b" " * (1 << 24))
        assert answer.http_status == 413
        again = transport.post(PATH, b"{}")
    assert isinstance(again, TransportError)
    assert not again.ambiguous_outcome, "sent on a connection that was cut off"
