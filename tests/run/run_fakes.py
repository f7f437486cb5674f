"""Fakes for time, disk and server, and a planned smoke run to use them on."""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from bench.llm.model import DecodeError, RawResponse, TransportError
from bench.llm.redact import Redactor
from bench.llm.responses import COUNT_PATH
from bench.plan.plan_files import Plan
from bench.plan.run_files import LEDGER_FILE
from bench.run.fs import Fs, OsFs
from bench.run.ledger import Ledger
from bench.run.ledger_records import InvocationOpened, Reserve, WindowOpened
from bench.run.prepare import block_trials
from bench.run.session_ledger import SessionLedger
from bench.run.store import RunStore, known_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from bench.run.trial_types import Trial

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class FakeClock:
    """Time stands still until somebody sleeps; the two clocks can be moved apart."""

    def __init__(self) -> None:
        self.mono_s = 1000.0
        self.wall = START
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.mono_s

    def utc_now(self) -> datetime:
        return self.wall

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self.mono_s += seconds
        self.wall += timedelta(seconds=seconds)


class FixedDice:
    """Always the same share of the range."""

    def __init__(self, share: float = 0.5) -> None:
        self.share = share

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) * self.share


class UnflushedFs(OsFs):
    """The real file system without its flushes: nothing in these tests cuts the power."""

    def fsync(self, fd: int) -> None:
        pass

    def fsync_dir(self, path: Path) -> None:
        pass


class Killed(BaseException):
    """The process is dead: nothing after this line ran."""


@dataclass
class FaultyFs:
    """The real file system, of which mutating operation number ``at`` fails as ``mode`` says. ``done`` lists them all."""

    mode: str = "none"
    at: int = 0
    done: list[str] = field(default_factory=list)
    real: OsFs = field(default_factory=UnflushedFs)

    def _fault(self, name: str) -> str | None:
        self.done.append(name)
        if len(self.done) != self.at:
            return None
        if self.mode == "killed before":
            raise Killed
        if self.mode in ("EIO", "ENOSPC"):
            raise OSError(getattr(errno, self.mode), self.mode)
        return self.mode

    def _after(self, fault: str | None) -> None:
        if fault == "killed after":
            raise Killed

    def open_append(self, path: Path) -> int:
        fault = self._fault(f"open_append {path.name}")
        fd = self.real.open_append(path)
        self._after(fault)
        return fd

    def open_new(self, path: Path) -> int:
        fault = self._fault(f"open_new {path.name}")
        fd = self.real.open_new(path)
        self._after(fault)
        return fd

    def read_at(self, fd: int, size: int, offset: int) -> bytes:
        return self.real.read_at(fd, size, offset)

    def write(self, fd: int, data: bytes) -> int:
        fault = self._fault("write")
        if fault == "short write":
            return self.real.write(fd, data[: len(data) // 2])
        if fault == "torn write":
            self.real.write(fd, data[: len(data) // 2])
            raise Killed
        taken = self.real.write(fd, data)
        self._after(fault)
        return taken

    def fsync(self, fd: int) -> None:
        fault = self._fault("fsync")
        self.real.fsync(fd)
        self._after(fault)

    def fsync_dir(self, path: Path) -> None:
        fault = self._fault("fsync_dir")
        self.real.fsync_dir(path)
        self._after(fault)

    def truncate(self, fd: int, size: int) -> None:
        fault = self._fault("truncate")
        self.real.truncate(fd, size)
        self._after(fault)

    def close(self, fd: int) -> None:
        self.real.close(fd)

    def replace(self, source: Path, target: Path) -> None:
        fault = self._fault(f"replace {target.name}")
        self.real.replace(source, target)
        self._after(fault)

    def mkdir(self, path: Path) -> None:
        fault = self._fault("mkdir")
        self.real.mkdir(path)
        self._after(fault)

    def lock(self, fd: int, *, exclusive: bool, wait: bool) -> bool:
        return self.real.lock(fd, exclusive=exclusive, wait=wait)

    def unlock(self, fd: int) -> None:
        self.real.unlock(fd)


Answer = RawResponse | TransportError | DecodeError


class FakeClient:
    """Answers counts with ``counted`` and generations from a list, the last one for ever; says what it was asked."""

    def __init__(self, *answers: Answer, counted: Answer | int = 100, clock: FakeClock | None = None) -> None:
        self._answers = list(answers) or [answer("4242")]
        self._counted = counted if not isinstance(counted, int) else count_answer(counted)
        self._clock = clock
        self.sent: list[str] = []
        self.on_send: Callable[[str], None] = lambda _path: None

    @property
    def generations(self) -> int:
        return sum(path != COUNT_PATH for path in self.sent)

    def send(self, path: str, body: bytes) -> Answer:
        self.sent.append(path)
        self.on_send(path)
        if self._clock is not None:
            self._clock.advance(0.5)
        if path == COUNT_PATH:
            return self._counted
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def raw(status: int, body: object, **headers: str) -> RawResponse:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return RawResponse(status, {"content-type": "application/json", **named}, data)


def count_answer(tokens: int) -> RawResponse:
    return raw(200, {"object": "response.input_tokens", "input_tokens": tokens})


def answer(text: str, *, tokens: tuple[int, int] | None = (100, 5), **fields: Any) -> RawResponse:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    body: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "model": "m",
        "status": "completed",
        "output": [message],
        **fields,
    }
    if tokens is not None:
        body["usage"] = {
            "input_tokens": tokens[0],
            "output_tokens": tokens[1],
            "total_tokens": sum(tokens),
        }
    return raw(200, body)


def api_error(status: int, code: str | None = None, **headers: str) -> RawResponse:
    return raw(status, {"error": {"message": "no", "type": "t", "param": None, "code": code}}, **headers)


LOST = TransportError("connection reset", ambiguous_outcome=True)
REFUSED = TransportError("connection refused", ambiguous_outcome=False)


def opened(invocation: str = "i1", **changes: Any) -> InvocationOpened:
    values: dict[str, Any] = {
        "invocation": invocation,
        "backend": "live",
        "boot": "boot",
        "max_generation_calls": 1000,
        "max_http_attempts": 4000,
        "max_rpm": None,
        "max_tpm": None,
        "soft_budget": False,
        "accept_carryover": False,
        "retry_ambiguous": False,
        "retry_failed": False,
    }
    return InvocationOpened(**{**values, **changes})


def reserve(key: str, *, trial: str = "t1", tokens: int = 100, attempt: int = 1, **changes: Any) -> Reserve:
    values: dict[str, Any] = {
        "key": key,
        "trial": trial,
        "series": 1,
        "attempt": attempt,
        "purpose": "generate",
        "tokens": tokens,
        "counted": tokens,
        "block": None,
        "worker": "gw0",
    }
    return Reserve(**{**values, **changes})


@dataclass
class Bench:
    """One worker on one planned run, every part of its world in hand."""

    plan: Plan
    client: FakeClient
    clock: FakeClock
    ledger: Ledger
    session: SessionLedger
    store: RunStore

    def trial(self, position: int = 0, *, block: Iterable[int] | None = None) -> Trial:
        positions = list(block or [position])
        rows = [self.plan.schedule[place] for place in positions]
        soft = self.session.opened.soft_budget
        trials = block_trials(self.plan, rows, known_counts(self.plan.run_dir), soft_budget=soft)
        return trials[positions.index(position)]


def bench_on(
    run_dir: Path,
    client: FakeClient,
    *,
    clock: FakeClock | None = None,
    fs: Fs | None = None,
    cap: int | None = 1_000_000,
    **limits: Any,
) -> Bench:
    """A worker ``gw0`` of a new invocation on a planned run; ``limits`` change the invocation record."""
    clock, fs = clock or FakeClock(), fs or UnflushedFs()
    plan = Plan.open(run_dir, verify=False)
    ledger = Ledger(run_dir / LEDGER_FILE, fs=fs, clock=clock)
    state = ledger.refresh()
    begin = opened(**{"invocation": f"i{state.seq}", **limits})
    date = clock.utc_now().date().isoformat()
    ledger.append(begin, *([WindowOpened(date, cap)] if state.window is None or date > state.window else []))
    session = SessionLedger(ledger, opened=begin, worker="gw0", clock=clock, dice=FixedDice())
    store = RunStore(run_dir, run=plan.protocol_hash, redactor=Redactor(["sk-sentinel"]), fs=fs)
    return Bench(plan, client, clock, ledger, session, store)
