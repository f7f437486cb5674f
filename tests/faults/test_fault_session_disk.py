"""Every operation of a whole session's file system fails once, in every way; then fold, check, resume."""

import contextlib
import shutil

import httpx
import pytest

from bench.run.ledger import SessionBrokenError
from bench.run.ledger_records import LedgerDamagedError
from bench.run.records_io import read_run_terminal
from bench.run.session import ControllerSession, Invocation, Refusal, Surroundings, WorkerSession
from bench.run.status import status
from bench.run.trial import run_trial
from tests.faults.worlds import plan_run, totals_of
from tests.loopback import LoopbackServer
from tests.run.run_fakes import FakeClock, FaultyFs, Killed, UnflushedFs

pytestmark = pytest.mark.faults

MODES = ("EIO", "ENOSPC", "short write", "torn write", "killed before", "killed after")
TRIALS = 3
KEY = {"OPENAI_API_KEY": "sk-sentinel-0123456789"}


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    return plan_run(tmp_path_factory.mktemp("disk") / "run", "http://127.0.0.1:9/v1").run_dir


class MortalDisk(UnflushedFs):
    """The real disk, which knows the open descriptors: those of a dead process are closed by the system."""

    def __init__(self) -> None:
        self.held: set[int] = set()

    def open_append(self, path):
        fd = super().open_append(path)
        self.held.add(fd)
        return fd

    def open_new(self, path):
        fd = super().open_new(path)
        self.held.add(fd)
        return fd

    def close(self, fd):
        self.held.discard(fd)
        super().close(fd)

    def bury(self) -> None:
        for fd in list(self.held):
            self.close(fd)


class World:
    """A copy of a run and the server behind it, which is counted and never fails."""

    def __init__(self, run_dir, server: LoopbackServer) -> None:
        self.run_dir, self.server = run_dir, server

    def session(self, fs) -> None:
        """Three trials from start to end, in this process, on that file system; a kill leaves everything as it is."""
        invocation = Invocation("live", 100, 400, 10_000_000, 10**6, 10**9)
        controller = worker = None
        try:
            controller = ControllerSession.open(
                self.run_dir, invocation, require_audit=lambda _: None, world=Surroundings(fs, FakeClock(), KEY)
            )
            transport = httpx.MockTransport(self._answer)
            worker = WorkerSession.join(
                controller.handoff(), worker="main", transport=transport, fs=fs, clock=FakeClock()
            )
            for position in controller.pending:
                if position < TRIALS:
                    run_trial(worker.trial(position), worker.client, worker.ledger, worker.store)
        finally:
            for each in (worker, controller):
                if each is not None:
                    self._close(each)

    @staticmethod
    def _close(session) -> None:
        with contextlib.suppress(Killed, OSError, SessionBrokenError, LedgerDamagedError):
            session.close()

    def _answer(self, request: httpx.Request) -> httpx.Response:
        from tests.loopback import Received

        received = Received(request.method, request.url.path, (), request.content)
        step = self.server._step_for(received)
        head, _, body = step.chunks[0].partition(b"\r\n\r\n")
        return httpx.Response(int(head.split()[1]), headers={"content-type": "application/json"}, content=body)


def after_a_fault(world: World) -> None:
    """The books cover the server's; a resume on a good disk sends nothing twice; every whole answer has its record."""
    server = world.server
    totals = totals_of(world.run_dir)
    booked = totals.known_tokens + totals.unresolved_tokens + totals.in_flight_tokens
    assert server.billed_tokens <= booked
    whole = [path.parent.name for path in world.run_dir.glob("trials/*/attempt-*-body.txt")]
    world.session(UnflushedFs())
    assert max(server.by_hash.values()) == 1
    for trial in whole:
        assert read_run_terminal(world.run_dir, trial).ending == "answered"
    standing, totals = status(world.run_dir), totals_of(world.run_dir)
    assert standing.terminal + len(standing.ambiguous) == TRIALS
    assert (totals.in_flight_tokens, server.billed_tokens <= totals.known_tokens + totals.unresolved_tokens) == (
        0,
        True,
    )


def fail_at(planned, tmp_path, mode: str, operation: int) -> bool:
    """One session that fails there, and its aftermath; false once the session has fewer operations."""
    copy = tmp_path / f"run-{operation}"
    shutil.copytree(planned, copy)
    world = World(copy, LoopbackServer())
    disk = MortalDisk()
    fs = FaultyFs(mode, at=operation, real=disk)
    with contextlib.suppress(Killed, Refusal, OSError, SessionBrokenError, LedgerDamagedError):
        world.session(fs)
    disk.bury()
    after_a_fault(world)
    world.server._listener.close()
    shutil.rmtree(copy)
    return len(fs.done) >= operation


@pytest.mark.parametrize("mode", MODES)
def test_a_session_survives_a_fault_of_every_operation(planned, tmp_path, mode):
    """Fail at operation N for N = 1, 2, ... until a session comes through untouched."""
    operation = 1
    while fail_at(planned, tmp_path, mode, operation):
        operation += 1
    assert operation > 80
