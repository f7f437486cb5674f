"""Sends one request body and brings back one whole answer, or says why there is none (section 8.3).

The only place that turns a secret into a header. It neither reads what an answer says nor decides what happens next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, cast

import httpx

from bench.llm.endpoint import check_base_url
from bench.llm.model import DecodeError, RawResponse, TransportError
from bench.llm.redact import Redactor, storable_headers
from bench.llm.sockets import Deadline, SocketTransport, TransportLimits

if TYPE_CHECKING:
    from types import TracebackType

    from bench.llm.credentials import Credentials

__all__ = ["Transport", "TransportLimits"]

# raised before the first byte of the request could leave: certainly not billed
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)


class _UnreadableBodyError(Exception):
    """The head is whole, the body is one that is not read."""


class Transport:
    """One connection pool for one endpoint. Not a single redirect, retry, cookie or environment variable is followed.

    Requests go straight to an httpx transport, below the ``httpx.Client`` that knows of such things.
    ``transport`` replaces the sockets (a mock); the rules for URLs and bodies hold all the same.
    ``proxy`` is the only way to a proxy, and loopback never takes it.
    """

    def __init__(
        self,
        base_url: str,
        *,
        credentials: Credentials,
        transport: httpx.BaseTransport | None = None,
        limits: TransportLimits = TransportLimits(),  # noqa: B008 — a frozen value
        proxy: str | None = None,
    ) -> None:
        """Opens nothing yet.

        Raises:
            EndpointError: if the base URL or the proxy URL is refused.
        """
        self.base_url = check_base_url(base_url, credentials=credentials)
        self.redactor = Redactor(credentials.secrets)
        self._credentials = credentials
        self._limits = limits
        self._deadline = Deadline(limits)
        self._urls: dict[str, httpx.URL] = {}
        self._sockets = transport or SocketTransport(self.base_url, deadline=self._deadline, proxy=proxy)

    def __repr__(self) -> str:
        return f"Transport({str(self.base_url)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes kept-alive connections."""
        self._sockets.close()

    def post(self, path: str, body: bytes) -> RawResponse | TransportError | DecodeError:
        """One HTTP attempt: ``body`` to ``base_url + path``.

        ``TransportError`` if no whole answer came, ``DecodeError`` for a success whose body is encoded or too large.
        Never raises for what the network did; an interrupt passes through, without the frames that held the headers.
        """
        started = self._deadline.start()
        try:
            response = self._sockets.handle_request(self._request(path, body))
            try:
                return self._whole(response, started)
            finally:
                response.close()
        except _NOT_SENT as error:
            return self._failed(error, ambiguous_outcome=False)
        except (httpx.HTTPError, httpx.StreamError) as error:
            return self._failed(error, ambiguous_outcome=True)
        except BaseException as error:  # noqa: BLE001 — passed on, without frames whose locals hold the key
            raise error.with_traceback(None) from None

    def _request(self, path: str, body: bytes) -> httpx.Request:
        if (url := self._urls.get(path)) is None:
            raw_path = self.base_url.raw_path.rstrip(b"/") + path.encode("ascii")
            url = self._urls[path] = self.base_url.copy_with(raw_path=raw_path)
        return httpx.Request("POST", url, headers=self._headers(), content=body)

    def _headers(self) -> list[tuple[str, str]]:
        headers = [
            ("Accept", "application/json"),
            ("Accept-Encoding", "identity"),
            ("Content-Type", "application/json"),
            ("User-Agent", "bench-llm/1"),
        ]
        if (key := self._credentials.api_key) is not None:
            headers.append(("Authorization", f"Bearer {key.get_secret_value()}"))
        if (project := self._credentials.project) is not None:
            headers.append(("OpenAI-Project", project.get_secret_value()))
        if (organization := self._credentials.organization) is not None:
            headers.append(("OpenAI-Organization", organization.get_secret_value()))
        return headers

    def _whole(self, response: httpx.Response, started: float) -> RawResponse | DecodeError:
        """The answer to its last byte; of an error answer that cannot be read, the status."""
        headers = storable_headers(response.headers.multi_items())
        body, withheld = b"", None
        try:
            self._refuse_unread(response.headers)
            body = self._body(response)
        except _UnreadableBodyError as error:
            if response.is_success:
                return DecodeError(str(error), response.status_code, headers.get("x-request-id"), b"")
            withheld = str(error)
        elapsed_s = self._limits.monotonic() - started
        return self.redactor.storable(RawResponse(response.status_code, headers, body, elapsed_s, withheld))

    def _body(self, response: httpx.Response) -> bytes:
        chunks: list[bytes] = []
        size = 0
        # not iter_raw: a mock's response counts as read already, and still holds its bytes here
        for chunk in cast("httpx.SyncByteStream", response.stream):
            if self._deadline.left_s() <= 0:
                raise httpx.ReadTimeout("total deadline passed")
            size += len(chunk)
            if size > self._limits.max_body_bytes:
                raise _UnreadableBodyError(f"body of more than {self._limits.max_body_bytes} bytes")
            chunks.append(chunk)
        return b"".join(chunks)

    def _refuse_unread(self, headers: httpx.Headers) -> None:
        """Some bodies are not even begun: decompression is where a small answer becomes a huge one."""
        encoding = headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            raise _UnreadableBodyError(f"Content-Encoding {encoding[:40]!r} although identity was asked for")
        length = headers.get("content-length", "")
        if length.isascii() and length.isdigit() and int(length[:20]) > self._limits.max_body_bytes:
            raise _UnreadableBodyError(f"body of {length[:20]} bytes, at most {self._limits.max_body_bytes} are read")

    def _failed(self, error: Exception, *, ambiguous_outcome: bool) -> TransportError:
        if self._deadline.left_s() <= 0:
            message = f"no whole answer within the total deadline of {self._limits.deadline_s:g} s"
        else:
            message = f"{type(error).__name__}: {error}"
        return TransportError(self.redactor.text(message)[0], ambiguous_outcome)
