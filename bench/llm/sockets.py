"""HTTP connections under one total deadline: an ``httpx`` transport whose every socket call obeys it.

httpx limits each read, so a server that drips one byte at a time outlives any of its timeouts. Here each connect, read
and write gets what is left of the request's own deadline, through the network backend that httpcore (the engine under
httpx) lets its users replace; no watchdog thread is needed. What is sent, and when, is decided in ``transport``.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

from bench.llm.endpoint import check_proxy_url, is_loopback

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Iterator


@dataclass(frozen=True, slots=True)
class TransportLimits:
    """Bounds of one HTTP attempt (section 8.3), and the monotonic clock that measures them.

    ``connect_s`` bounds the TCP and TLS handshakes, ``deadline_s`` everything from the start to the last byte.
    """

    deadline_s: float = 180.0
    connect_s: float = 15.0
    max_body_bytes: int = 16 * 1024 * 1024
    monotonic: Callable[[], float] = time.monotonic


class Deadline(threading.local):
    """When the running request of this thread must be over."""

    def __init__(self, limits: TransportLimits) -> None:
        self._limits = limits
        self._ends_at = self._connect_ends_at = float("inf")

    def start(self) -> float:
        """Starts the clock for one request; the time it started."""
        now = self._limits.monotonic()
        self._ends_at = now + self._limits.deadline_s
        return now

    def left_s(self) -> float:
        """Seconds left, zero or less when it has passed."""
        return self._ends_at - self._limits.monotonic()

    def start_connect(self) -> None:
        """Starts the clock for one connection: every address tried, and the TLS handshake."""
        self._connect_ends_at = min(self._ends_at, self._limits.monotonic() + self._limits.connect_s)

    def connect_left_s(self) -> float:
        """Seconds left of the connection's share."""
        return self._connect_ends_at - self._limits.monotonic()


_PIECE = 1 << 16  # bytes between two looks at the deadline: a server may read as slowly as it may answer


class _DeadlineStream(httpcore.NetworkStream):
    """A socket whose calls never outlive the deadline.

    httpcore writes head and body of a request apart. They leave together here, when the answer is waited for: one
    packet and one wake-up of the server instead of two.
    """

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline
        self._unsent: list[bytes] = []

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._unsent:
            self._send(timeout)
        if (left := self._deadline.left_s()) <= 0:
            raise httpcore.ReadTimeout("total deadline passed")
        return self._stream.read(max_bytes, _sooner(left, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - sent by `read`, in its time
        self._unsent.append(buffer)

    def _send(self, timeout: float | None) -> None:
        """What is unsent; a server that stopped listening may still have answered, as httpcore sees it too."""
        data, self._unsent = b"".join(self._unsent), []
        with contextlib.suppress(httpcore.WriteError):
            for start in range(0, len(data), _PIECE):
                if (left := self._deadline.left_s()) <= 0:
                    raise httpcore.WriteTimeout("total deadline passed")
                self._stream.write(data[start : start + _PIECE], _sooner(left, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        if (left := self._deadline.connect_left_s()) <= 0:
            raise httpcore.ConnectTimeout("total deadline passed")
        stream = self._stream.start_tls(ssl_context, server_hostname, _sooner(left, timeout))
        return _DeadlineStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _DeadlineBackend(httpcore.NetworkBackend):
    """Opens sockets; all addresses of a host together get one connect timeout, not each its own."""

    def __init__(self, deadline: Deadline) -> None:
        self._sockets = httpcore.SyncBackend()
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        self._deadline.start_connect()
        failure: Exception = httpcore.ConnectError(f"no address for {host}")
        for address in _addresses(host, port):
            if (left := self._deadline.connect_left_s()) <= 0:
                raise httpcore.ConnectTimeout(f"no connection to {host}:{port} in time")
            try:
                stream = self._sockets.connect_tcp(address, port, _sooner(left, timeout), local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _DeadlineStream(stream, self._deadline)
        raise failure


class SocketTransport(httpx.BaseTransport):
    """Real sockets; raises httpx's own exceptions.

    A proxy is used only if given, and never for loopback. No certificates are loaded for a plain HTTP endpoint.
    """

    def __init__(self, base_url: httpx.URL, *, deadline: Deadline, proxy: str | None = None) -> None:
        context = httpx.create_ssl_context(trust_env=False) if base_url.scheme == "https" else None
        backend = _DeadlineBackend(deadline)
        self._pool: httpcore.ConnectionPool
        if proxy is None or is_loopback(base_url):
            self._pool = httpcore.ConnectionPool(ssl_context=context, keepalive_expiry=5.0, network_backend=backend)
        else:
            self._pool = httpcore.HTTPProxy(
                str(check_proxy_url(proxy)), ssl_context=context, keepalive_expiry=5.0, network_backend=backend
            )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The head of the answer; its body is read from the socket as it is iterated."""
        url = request.url
        core_request = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
        )
        try:
            response = self._pool.handle_request(core_request)
        except tuple(_HTTPX_ERRORS) as error:
            raise _as_httpx(error) from None
        return httpx.Response(response.status, headers=response.headers, stream=_BodyStream(response))

    def close(self) -> None:
        """Closes every connection."""
        self._pool.close()


class _BodyStream(httpx.SyncByteStream):
    """The raw body, as it comes off the wire."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._response.iter_stream()
        except tuple(_HTTPX_ERRORS) as error:
            raise _as_httpx(error) from None

    def close(self) -> None:
        self._response.close()


_HTTPX_ERRORS: dict[type[Exception], type[httpx.TransportError]] = {
    httpcore.ConnectTimeout: httpx.ConnectTimeout,
    httpcore.ReadTimeout: httpx.ReadTimeout,
    httpcore.WriteTimeout: httpx.WriteTimeout,
    httpcore.PoolTimeout: httpx.PoolTimeout,
    httpcore.ConnectError: httpx.ConnectError,
    httpcore.ReadError: httpx.ReadError,
    httpcore.WriteError: httpx.WriteError,
    httpcore.ProxyError: httpx.ProxyError,
    httpcore.UnsupportedProtocol: httpx.UnsupportedProtocol,
    httpcore.LocalProtocolError: httpx.LocalProtocolError,
    httpcore.RemoteProtocolError: httpx.RemoteProtocolError,
}


def _sooner(left_s: float, timeout_s: float | None) -> float:
    return left_s if timeout_s is None else min(left_s, timeout_s)


def _as_httpx(error: Exception) -> httpx.TransportError:
    return _HTTPX_ERRORS[type(error)](str(error))


def _addresses(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"cannot look up {host}: {error}") from None
    return [str(entry[4][0]) for entry in found]
