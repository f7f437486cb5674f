"""A Responses-API server on a real loopback socket that does what it is told, and counts what it would have billed.

In a thread:   with LoopbackServer() as server: … server.base_url … server.generations
As a process:  python tests/loopback.py --port 0 --log billed.jsonl --latency-ms 200    (first line printed: the port)

Two ways to answer. With ``script=[…]`` each request takes the next step, and leaving the ``with`` block fails if a step
was never asked for or a request found no step. Without a script every request gets a plausible answer ("responses
mode"), except generation number N where ``faults={N: fault}`` says so. It knows nothing of ``bench``: what it counts is an
independent oracle of what was billed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

GENERATE = "/v1/responses"
COUNT = "/v1/responses/input_tokens"
STATS = "/_stats"

Then = Literal["keep", "close", "reset", "hang"]


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came over the wire; header names in lower case."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name.lower()), None)

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Step:
    """What goes out for one request: each chunk as one write, ``pause_s`` before each but the first, then ``then``.

    ``billed`` books the request in the server's own counters although the client may never see the answer.
    """

    chunks: tuple[bytes, ...] = ()
    pause_s: float = 0.0
    then: Then = "keep"
    billed: bool = False


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = {"content-type": "application/json", **headers}
    fields = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Loopback\r\n{fields}\r\n".encode("latin-1")


def reply(body: bytes | Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Step:
    """A whole answer with a right Content-Length."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Step((_head(status, {"content-length": str(len(data)), **(headers or {})}) + data,))


def drip(data: bytes, pause_s: float = 0.05, size: int = 1) -> Step:
    """The bytes as given, ``size`` at a time: no single read waits long, the whole never ends in time."""
    return Step(tuple(data[at : at + size] for at in range(0, len(data), size)), pause_s, "close")


def drop(then: Literal["close", "reset"] = "close", *, billed: bool = False, after: bytes = b"") -> Step:
    """The connection ends after ``after`` bytes of an answer."""
    return Step((after,) if after else (), then=then, billed=billed)


def hang(after: bytes = b"", *, billed: bool = False) -> Step:
    """Nothing more comes, and the connection stays open until the server stops."""
    return Step((after,) if after else (), then="hang", billed=billed)


def error_reply(
    status: int, code: str | None, kind: str | None = None, headers: Mapping[str, str] | None = None
) -> Step:
    """An error in the API's own form."""
    return reply(
        {"error": {"message": f"{code} (loopback)", "type": kind, "param": None, "code": code}}, status, headers
    )


# faults of responses mode, by the name the command line uses
FAULTS: dict[str, Step] = {
    "drop": drop(billed=True),
    "drop-unbilled": drop(),
    "reset": drop("reset", billed=True),
    "hang": hang(billed=True),
    "rate": error_reply(429, "rate_limit_exceeded", "requests", {"retry-after": "0"}),
    "quota": error_reply(429, "insufficient_quota", "insufficient_quota"),
    "key": error_reply(401, "invalid_api_key", "invalid_request_error"),
    "500": error_reply(500, "server_error", "server_error"),
    "503": error_reply(503, "server_is_overloaded", "service_unavailable_error"),
    "400": error_reply(400, "unsupported_parameter", "invalid_request_error"),
    "garbage": reply(b'{"id": "resp_1", "output": ['),
}


def response_body(
    text: str,
    *,
    model: str = "loopback",
    input_tokens: int = 10,
    output_tokens: int = 5,
    number: int = 1,
    **changes: Any,
) -> dict[str, Any]:
    """A completed Responses object as the documented API sends it; ``changes`` replaces or adds top-level fields."""
    body: dict[str, Any] = {
        "id": f"resp_{number:06d}",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": model,
        "output": [
            {"id": "rs_1", "type": "reasoning", "summary": []},
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            },
        ],
        "parallel_tool_calls": True,
        "store": False,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input_tokens + output_tokens,
        },
        "metadata": {},
    }
    return body | changes


class LoopbackServer:
    """The server; counters are safe to read at any time.

    ``generations`` are the billed ones, whether or not the client saw the answer, and ``billed_tokens`` their tokens;
    ``by_hash`` is how often each generation body arrived; ``requests`` everything received (kept only if ``keep_requests``).
    """

    def __init__(
        self,
        script: Sequence[Step | Callable[[Received], Step]] | None = None,
        *,
        answer: str | Callable[[dict[str, Any]], str] = "4242",
        faults: Mapping[int, Step | str] | None = None,
        latency_s: float = 0.0,
        log: str | os.PathLike[str] | None = None,
        port: int = 0,
        keep_requests: bool = True,
        output_tokens: int = 5,
    ) -> None:
        self.requests: list[Received] = []
        self.unexpected: list[Received] = []
        self.by_hash: Counter[str] = Counter()
        self.generations = self.counts = self.billed_tokens = self.received = self.connections = 0
        self._script = None if script is None else deque(script)
        self._answer = answer
        self._faults = {n: FAULTS[f] if isinstance(f, str) else f for n, f in (faults or {}).items()}
        self._latency_s = latency_s
        self._log_fd = None if log is None else os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._keep_requests = keep_requests
        self._output_tokens = output_tokens
        self._generation_number = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port: int = self._listener.getsockname()[1]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def unplayed(self) -> int:
        """Steps of the script that no request has asked for."""
        return len(self._script or ())

    def stats(self) -> dict[str, Any]:
        """The counters as plain values; over the wire at ``GET /_stats``."""
        with self._lock:
            return {
                "received": self.received,
                "connections": self.connections,
                "generations": self.generations,
                "counts": self.counts,
                "billed_tokens": self.billed_tokens,
                "by_hash": dict(self.by_hash),
            }

    def start(self) -> Self:
        self._spawn(self._accept)
        return self

    def stop(self) -> None:
        """Ends every connection, the hanging ones too, and waits for the threads."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        # wakes the accepting thread everywhere; shutting a listening socket down does so on some systems only
        socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        with self._lock:
            still_open = list(self._open)
        for connection in still_open:
            _shut(connection)
        for thread in list(self._threads):
            thread.join(timeout=5)
        self._listener.close()
        if self._log_fd is not None:
            os.close(self._log_fd)
            self._log_fd = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        if kind is None:
            assert not self.unexpected, f"{len(self.unexpected)} requests found no step in the script"
            assert not self.unplayed, f"{self.unplayed} steps of the script were never asked for"

    def _spawn(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except ConnectionAbortedError:
                continue  # the client was gone before it was accepted
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                if self._stopping.is_set():
                    connection.close()
                    return
                self.connections += 1
                self._open.add(connection)
            self._spawn(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        buffer = bytearray()
        try:
            while (request := _read_request(connection, buffer)) is not None:
                started = time.monotonic()
                step = self._step_for(request)
                self._wait(self._latency_s - (time.monotonic() - started))
                if not self._play(connection, step):
                    return
        except OSError:
            return  # the client went away, or the server is stopping
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()

    def _play(self, connection: socket.socket, step: Step) -> bool:
        """Writes one step; true if the connection lives on."""
        for number, chunk in enumerate(step.chunks):
            if number:
                self._wait(step.pause_s)
            connection.sendall(chunk)
        if step.then == "hang":
            self._stopping.wait()
        if step.then == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return step.then == "keep"

    def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self._stopping.wait(seconds)

    def _step_for(self, request: Received) -> Step:
        if request.path == STATS:
            return reply(self.stats())
        with self._lock:
            self.received += 1
            if self._keep_requests:
                self.requests.append(request)
        if self._script is not None:
            return self._scripted(request)
        if request.method == "POST" and request.path == COUNT:
            return self._count(request)
        if request.method == "POST" and request.path == GENERATE:
            return self._generate(request)
        return error_reply(404, "not_found", "invalid_request_error")

    def _scripted(self, request: Received) -> Step:
        with self._lock:
            if not self._script:
                self.unexpected.append(request)
                return error_reply(418, "no_step_left", "loopback")
            step = self._script.popleft()
        if not isinstance(step, Step):
            step = step(request)
        self._book(request, billed=step.billed or _is_success(step))
        return step

    def _count(self, request: Received) -> Step:
        self._book(request, billed=False)
        return reply({"object": "response.input_tokens", "input_tokens": counted_input_tokens(request.body)})

    def _generate(self, request: Received) -> Step:
        with self._lock:
            self._generation_number += 1
            number = self._generation_number
        fault = self._faults.get(number)
        self._book(request, billed=fault is None or fault.billed)
        if fault is not None:
            return fault
        asked = request.json()
        text = self._answer if isinstance(self._answer, str) else self._answer(asked)
        return reply(
            response_body(
                text,
                model=str(asked.get("model")),
                input_tokens=counted_input_tokens(request.body),
                output_tokens=self._output_tokens,
                number=number,
            ),
            headers={"x-request-id": f"req_{number:06d}"},
        )

    def _book(self, request: Received, *, billed: bool) -> None:
        """Counts a request, and writes its line to the log before a byte of the answer leaves."""
        kind = {GENERATE: "generation", COUNT: "count"}.get(request.path, "other")
        billed = billed and kind == "generation"
        sha256 = hashlib.sha256(request.body).hexdigest()
        input_tokens = counted_input_tokens(request.body)
        tokens = input_tokens + self._output_tokens if billed else 0
        line = {
            "kind": kind,
            "at_s": time.monotonic(),
            "sha256": sha256,
            "bytes": len(request.body),
            "input_tokens": input_tokens,
            "billed": billed,
            "billed_tokens": tokens,
        }
        with self._lock:
            self.generations += billed
            self.counts += kind == "count"
            self.billed_tokens += tokens
            if kind == "generation":
                self.by_hash[sha256] += 1
        if self._log_fd is not None:
            os.write(self._log_fd, (json.dumps(line) + "\n").encode())


def counted_input_tokens(body: bytes) -> int:
    """The stand-in for a tokenizer: one token per four UTF-8 bytes of text, plus four per message; 0 for no request."""
    try:
        asked = json.loads(body)
        messages = asked.get("input") or []
    except (ValueError, AttributeError):
        return 0
    texts = [messages] if isinstance(messages, str) else [str(message.get("content")) for message in messages]
    text_bytes = sum(len(text.encode()) for text in [str(asked.get("instructions") or ""), *texts])
    return (text_bytes + 3) // 4 + 4 * len(texts)


def _is_success(step: Step) -> bool:
    return step.then == "keep" and b"".join(step.chunks[:1]).startswith(b"HTTP/1.1 200")


def _read_request(connection: socket.socket, buffer: bytearray) -> Received | None:
    """The next request of a kept-alive connection, or ``None`` when the client closed it."""
    while (end := buffer.find(b"\r\n\r\n")) < 0:
        if not _fill(connection, buffer):
            return None
    first, *lines = bytes(buffer[:end]).decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = tuple((name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines))
    length = int(dict(headers).get("content-length", "0"))
    while len(buffer) < end + 4 + length:
        if not _fill(connection, buffer):
            return None
    body = bytes(buffer[end + 4 : end + 4 + length])
    del buffer[: end + 4 + length]
    return Received(method, path, headers, body)


def _fill(connection: socket.socket, buffer: bytearray) -> bool:
    data = connection.recv(65536)
    buffer += data
    return bool(data)


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # already gone


def _fault_argument(text: str) -> tuple[int, str]:
    number, _, name = text.partition("=")
    if name not in FAULTS:
        raise argparse.ArgumentTypeError(f"N=NAME with NAME one of {', '.join(FAULTS)}")
    return int(number), name


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="A Responses-API stand-in on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one; it is printed as the first line")
    parser.add_argument("--log", help="append one JSON line per request here, before it is answered")
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--answer", default="4242", help="the text of every generation")
    parser.add_argument("--fault", type=_fault_argument, action="append", default=[], metavar="N=NAME")
    parser.add_argument("--output-tokens", type=int, default=5)
    options = parser.parse_args(arguments)
    server = LoopbackServer(
        port=options.port,
        log=options.log,
        latency_s=options.latency_ms / 1000,
        answer=options.answer,
        faults=dict(options.fault),
        output_tokens=options.output_tokens,
        keep_requests=False,
    )
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    with server:
        print(server.port, flush=True)  # noqa: T201 — the port is this program's output
        done.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
