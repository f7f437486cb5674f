"""A llama.cpp server of our own on a loopback port, for as long as a ``with`` block lasts.

The child process has a session of its own, so that Ctrl-C reaches only the parent, and ends with the pipe to its
parent, so that a killed parent leaves nothing behind. Planning and sending are not here.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Self

import httpx

from bench.backends.local_spec import LocalModelSpec, describe, local_settings, read_spec, require_same
from bench.backends.local_weights import LocalModelError, Weights, find_weights

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import IO

__all__ = [
    "LocalModelError",
    "LocalModelSpec",
    "LocalServer",
    "Weights",
    "describe",
    "find_weights",
    "local_settings",
    "read_spec",
]

START_TIMEOUT_S = 120.0
HEALTH_POLL_S = 0.05
CLOSE_TIMEOUT_S = 10.0
LOG_TAIL_BYTES = 4096
LOG_ERROR = " E "  # llama.cpp: time, level, message; the first error is the cause, the others follow from it


class LocalServer:
    """A context manager: the server answers at ``base_url`` inside the block and is gone after it.

    ``on_crash`` is called once, from a thread, with a one-line message if the server ends before ``close``.
    """

    def __init__(
        self,
        spec: LocalModelSpec,
        weights: Weights,
        *,
        port: int = 0,
        start_timeout_s: float = START_TIMEOUT_S,
        on_crash: Callable[[str], None] | None = None,
    ) -> None:
        require_same(spec, weights)
        self._order = {"spec": spec.as_json(), "path": str(weights.path), "port": port}
        self._start_timeout_s = start_timeout_s
        self._on_crash = on_crash
        self._closing = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self.base_url = ""

    def __enter__(self) -> Self:
        """The server, ready to answer.

        Raises:
            LocalModelError: it could not start in time; the message quotes the server's last complaint.
        """
        deadline = time.monotonic() + self._start_timeout_s
        self._log = tempfile.TemporaryFile()
        self._process = process = self._spawn(self._log)
        try:
            address = self._read_address(process, deadline)
            self._await_health(address, deadline)
        except BaseException:
            self.close()
            raise
        self.base_url = f"{address}/v1"
        threading.Thread(target=self._watch, args=(process,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing; the server has ended."""
        self.close()

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._running().pid

    def failure(self) -> str | None:
        """None while the server runs; else one line that says how it ended."""
        code = self._running().poll()
        return None if code is None else f"the local model server ended ({_ending(code)}): {self._last_complaint()}"

    def close(self) -> None:
        """Nothing; the server has ended. May be called twice."""
        self._closing.set()
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:  # stuck in native code: it holds nothing that needs saving
            process.kill()
            process.wait()
        if self._log is not None and not self._log.closed:
            self._log.close()

    def _spawn(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
        # threads that wait must sleep: spinning ones lose most of a machine that others use too (measured: 2 threads,
        # load 14 on two cores: over 56 s a prompt spinning, 24 s sleeping, and the same CPU time as one thread)
        environment["OMP_WAIT_POLICY"] = "passive"
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.backends.local_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            bufsize=0,
            start_new_session=True,
        )
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(self._order).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:  # it died at once; reading the address says why
            pass
        return process

    def _read_address(self, process: subprocess.Popen[bytes], deadline: float) -> str:
        assert process.stdout is not None
        descriptor, line = process.stdout.fileno(), b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise LocalModelError(f"the local model server was not ready after {self._start_timeout_s:g} s")
            block = os.read(descriptor, 4096)
            if not block:
                code = process.wait(CLOSE_TIMEOUT_S)
                raise LocalModelError(
                    f"the local model server could not start ({_ending(code)}): {self._last_complaint()}"
                )
            line += block
        return str(json.loads(line)["address"])

    def _await_health(self, address: str, deadline: float) -> None:
        with httpx.Client(trust_env=False, timeout=5.0) as client:
            while time.monotonic() < deadline:
                if complaint := self.failure():
                    raise LocalModelError(complaint)
                try:
                    if client.get(f"{address}/health").status_code == 200:
                        return
                except httpx.TransportError:
                    pass  # not listening yet
                time.sleep(HEALTH_POLL_S)
        raise LocalModelError(f"the local model server was not ready after {self._start_timeout_s:g} s")

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        if not self._closing.is_set() and self._on_crash is not None:
            self._on_crash(self.failure() or "the local model server ended")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise LocalModelError("the local model server is not started")
        return self._process

    def _last_complaint(self) -> str:
        """The cause as the server's log tells it, for a one-line message."""
        if self._log is None or self._log.closed:
            return "no log"
        size = os.fstat(self._log.fileno()).st_size
        tail = os.pread(self._log.fileno(), LOG_TAIL_BYTES, max(0, size - LOG_TAIL_BYTES))
        lines = [line.strip() for line in tail.decode(errors="replace").splitlines() if line.strip()]
        errors = [line.partition(LOG_ERROR)[2].strip() for line in lines if LOG_ERROR in line]
        return (errors or lines[-1:] or ["it left no message"])[0]


def _ending(code: int) -> str:
    """How a process ended, in words."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"
