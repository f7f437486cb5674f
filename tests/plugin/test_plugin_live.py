"""Sessions over real sockets against the loopback server: money, crashes, Ctrl-C, secrets."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.loopback import LoopbackServer
from tests.plugin.boxes import CAPS, KEY, LIMITS, Box, make_box

BOTH = pytest.mark.parametrize("workers", ["-n0", "-n2"])
SMOKE_P0 = ("evals", "-m", "smoke and p0")


def live_box(root: Path, server: LoopbackServer) -> Box:
    return make_box(root, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "loopback"})


@pytest.fixture
def slow_server() -> Iterator[LoopbackServer]:
    """A server that takes a while for each answer."""
    with LoopbackServer(latency_s=0.4) as server:
        yield server


@BOTH
def test_a_cap_stops_with_6_and_a_resume_sends_the_rest_once(tmp_path: Path, workers: str) -> None:
    """The server counts no more generations than allowed; the next invocation sends what is left, nothing twice."""
    with LoopbackServer() as server:
        box = live_box(tmp_path, server)
        flags = (*LIMITS, workers)
        first = box.pytest(*SMOKE_P0, *flags, "--max-generation-calls=10")
        assert 6 == first.code
        assert 10 == server.generations == len(box.terminals())
        assert "stopped: cap" in first.text
        second = box.pytest(*SMOKE_P0, *flags, "--max-generation-calls=60")
        assert 0 == second.code
        assert 20 == server.generations == len(box.terminals())
        assert {1} == set(server.by_hash.values())


@BOTH
def test_a_wrong_key_costs_one_request(tmp_path: Path, workers: str) -> None:
    """A refused key stops the session, trials stay pending, exit 1."""
    with LoopbackServer(faults=dict.fromkeys(range(1, 30), "key")) as server:
        box = live_box(tmp_path, server)
        session = box.pytest(*SMOKE_P0, *CAPS, workers)
        assert 1 == session.code
        assert "stopped: key" in session.text
        assert 0 == server.generations
        assert [] == box.terminals()


@BOTH
def test_the_first_ctrl_c_finishes_what_is_in_flight(tmp_path: Path, slow_server: LoopbackServer, workers: str) -> None:
    """Ctrl-C in the terminal reaches every process: exit 2, each billed answer is on disk, the rest is not sent."""
    box = live_box(tmp_path, slow_server)
    process = box.start(*SMOKE_P0, *CAPS, workers)
    wait_for(lambda: slow_server.generations >= 3, process)
    os.killpg(process.pid, signal.SIGINT)
    text, _ = process.communicate(timeout=100)
    assert 2 == process.returncode, text
    assert 3 <= slow_server.generations == len(box.terminals()) < 20
    assert "stopped: interrupt" in text
    assert "not_dispatched" in text


def test_a_signal_to_the_controller_alone_stops_its_workers(tmp_path: Path, slow_server: LoopbackServer) -> None:
    """The workers read the stop in the ledger, and their last answers are reported."""
    box = live_box(tmp_path, slow_server)
    process = box.start(*SMOKE_P0, *CAPS, "-n2")
    wait_for(lambda: slow_server.generations >= 3, process)
    os.kill(process.pid, signal.SIGINT)
    text, _ = process.communicate(timeout=100)
    assert 2 == process.returncode, text
    assert slow_server.generations == len(box.terminals()) < 20


def test_a_worker_that_dies_leaves_one_ambiguous_trial(tmp_path: Path, slow_server: LoopbackServer) -> None:
    """The trial in flight is not sent again, all others are, and the next start is not blocked."""
    box = live_box(tmp_path, slow_server)
    killer = box.plugin("killer", KILLER.format(flag=str(tmp_path / "died")))
    session = box.pytest(*SMOKE_P0, *CAPS, "-n2", killer)
    assert 1 == session.code, session.text
    assert 1 == session.counts["failed"]
    assert 19 == len(box.terminals())
    assert {1} == set(slow_server.by_hash.values())
    assert "1 ambiguous (sent, maybe billed, no answer)" in session.text
    again = box.pytest(*SMOKE_P0, *CAPS, "-n2")
    assert 1 == again.code
    assert "19 of 20 already terminal" in again.text
    retried = box.pytest(*SMOKE_P0, *CAPS, "-n2", "--retry-ambiguous")
    assert 0 == retried.code
    assert 20 == len(box.terminals())


KILLER = """
import os, signal, threading
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    if not hasattr(item.config, "workerinput"):
        return
    try:
        os.close(os.open({flag!r}, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    item.config.dying = True

from bench.llm.sockets import SocketTransport
_send = SocketTransport.handle_request

@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    def send(self, request):
        if getattr(config, "dying", False) and request.url.path.endswith("/responses"):
            threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        return _send(self, request)
    SocketTransport.handle_request = send
"""


@BOTH
def test_no_key_and_no_prompt_in_what_a_failing_session_shows(tmp_path: Path, workers: str) -> None:
    """A defect in mid-trial with every local shown: neither terminal, junit nor run directory holds key or prompt."""
    with LoopbackServer() as server:
        box = live_box(tmp_path, server)
        broken = box.plugin("broken", BROKEN)
        noisy = ("-l", "--tb=long", "--full-trace", "--junitxml=junit.xml", "-rA", "--log-level=DEBUG", "-v")
        session = box.pytest(*SMOKE_P0, *CAPS, workers, broken, *noisy)
        assert 1 == session.code
        assert 20 == session.counts["failed"]
        assert "bench/run/trial.py" in session.text
        shown = session.text.encode() + (tmp_path / "junit.xml").read_bytes()
        stored = b"".join(path.read_bytes() for path in box.run.rglob("*") if path.is_file())
        for secret in (KEY.encode(), b"SECRET-IN-A-LOCAL"):
            assert secret not in shown
            assert secret not in stored
        for prompt in (b"EXAMPLE", b"probe ", b"SYNTAX"):
            assert prompt not in shown


BROKEN = """
import pytest
import bench.run.course as course

def run(self):
    body, secret = self._trial.body.decode(), "SECRET-IN-A-LOCAL"
    print(body, secret)
    raise RuntimeError(body + secret)

course.Course.run = run
"""


def wait_for(condition: object, process: object) -> None:
    """Wait until the condition holds, or the session ends too early."""
    deadline = time.monotonic() + 90
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)
