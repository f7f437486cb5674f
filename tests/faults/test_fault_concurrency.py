"""Many at once, two at once, a disk that is full or read-only: seen from the command line."""

import contextlib
import fcntl
import itertools
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from bench.run.status import status
from tests.faults.worlds import FAST, TrialServer, box_for, caps, plan_run, totals_of
from tests.loopback import LoopbackServer

pytestmark = pytest.mark.faults
PATIENCE_S = 600  # only a guard against hanging


def generations_of(log: Path) -> list[dict]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def most_within(times: list[float], seconds: float) -> int:
    """The largest number of moments in any window of that length."""
    times = sorted(times)
    most = first = 0
    for last, moment in enumerate(times):
        while moment - times[first] >= seconds:
            first += 1
        most = max(most, last - first + 1)
    return most


def test_the_window_count():
    """The oracle of the rate tests: a window is half open."""
    assert [1, 2, 3] == [most_within([0.0, 1.0, 1.5], width) for width in (0.5, 1.0, 1.6)]


@pytest.mark.slow
def test_32_workers_keep_32_requests_in_flight(tmp_path):
    """A server that takes 2 s for each answer is asked 32 things at once, from two cores."""
    log = tmp_path / "log"
    with LoopbackServer(latency_s=2.0, log=log, keep_requests=False) as server:
        box = box_for(tmp_path / "box", server.base_url)
        plan = plan_run(tmp_path / "run", server.base_url, seeds=16)
        session = box.pytest("evals", f"--run={plan.run_dir}", *caps(), *FAST, "-n32", "-q", timeout_s=900)
    assert 0 == session.code, session.text[-3000:]
    assert most_within([line["at_s"] for line in generations_of(log)], 1.99) >= 32
    assert {1} == set(server.by_hash.values())


@pytest.mark.slow
def test_32_workers_respect_60_requests_a_minute(tmp_path):
    """No minute holds more than 60 requests at the server, counts included."""
    log = tmp_path / "log"
    with LoopbackServer(latency_s=0.5, log=log, keep_requests=False) as server:
        box = box_for(tmp_path / "box", server.base_url)
        plan = plan_run(tmp_path / "run", server.base_url, seeds=3)
        limits = ("--max-rpm=60", "--max-tpm=1000000000", "-n32", "-q")
        session = box.pytest("evals", f"--run={plan.run_dir}", *caps(), *limits, timeout_s=900)
    assert 0 == session.code, session.text[-3000:]
    times = [line["at_s"] for line in generations_of(log)]
    assert 120 == len(times)
    assert most_within(times, 59.5) <= 60  # requests are timed when they arrive, not when they were allowed


def test_a_second_session_is_refused_and_a_dead_one_is_no_obstacle(tmp_path):
    """While one runs: one line, exit 4, nothing sent by the second. After SIGKILL of all of it the next start goes on."""
    with LoopbackServer(latency_s=0.5) as server:
        box = box_for(tmp_path / "box", server.base_url)
        plan = plan_run(tmp_path / "run", server.base_url)
        command = ("evals", f"--run={plan.run_dir}", *caps(calls=10), *FAST, "--accept-carryover", "-q")
        first = box.start(*command, "-n2")
        try:
            deadline = time.monotonic() + 200
            while not server.generations and time.monotonic() < deadline:
                time.sleep(0.02)
            second = box.pytest(*command, timeout_s=PATIENCE_S)
            refusals = [line for line in second.text.splitlines() if "another session holds this run" in line]
            assert (4, 1) == (second.code, len(refusals)), second.text
        finally:
            os.killpg(first.pid, 9)
            first.communicate()
        third = box.pytest(*command, timeout_s=PATIENCE_S)
        assert third.code in (0, 1, 6), third.text
        assert {1} == set(server.by_hash.values())
        assert len(status(plan.run_dir).ambiguous) <= 2


# disks


@contextlib.contextmanager
def mounted(folder: Path, options: str):
    """A small file system of its own in ``folder``; skips where one may not be mounted."""
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("mounting needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def small_disk(tmp_path):
    with contextlib.ExitStack() as stack:
        if os.geteuid() != 0:
            pytest.skip("mounting needs root")
        yield stack.enter_context(mounted(tmp_path / "disk", "size=16m"))


def fill(folder: Path, leave: int) -> Path:
    """Fill the disk but for so many bytes."""
    filler = folder / "filler"
    disk = os.statvfs(folder)
    filler.write_bytes(bytes(max(0, disk.f_bavail * disk.f_frsize - leave)))
    return filler


def test_a_full_disk_stops_before_sending(tmp_path, small_disk):
    """Nothing is sent from a full disk; one that fills up in mid-run stops it, nothing answered is lost, and room helps."""
    with TrialServer() as server:
        box = box_for(tmp_path / "box", server.base_url)
        plan = plan_run(small_disk / "run", server.base_url)
        command = ("evals", f"--run={plan.run_dir}", *caps(), *FAST, "--accept-carryover", "-q")
        filler = fill(small_disk, leave=0)
        refused = box.pytest(*command, timeout_s=PATIENCE_S)
        assert (4, 0) == (refused.code, server.received), refused.text
        assert ["free space or make it writable" in refused.text, "No space left" in refused.text] == [True, True]
        filler.unlink()
        filler = fill(small_disk, leave=100_000)
        stopped = box.pytest(*command, timeout_s=PATIENCE_S)
        assert "INTERNALERROR" not in stopped.text
        assert (1, True) == (stopped.code, "stopped: disk" in stopped.text), stopped.text
        sent = server.generations
        assert 0 < sent < 20
        filler.unlink()
        again = box.pytest(*command, timeout_s=PATIENCE_S)
        standing, totals = status(plan.run_dir), totals_of(plan.run_dir)
        assert again.code == (1 if standing.ambiguous else 0)
        assert (len(standing.ambiguous) <= 1, max(server.by_hash.values())) == (True, 1)
        assert server.billed_tokens <= sum(totals.by_window.values()) + totals.unresolved_tokens + totals.carried_tokens


def test_a_read_only_run_stops_before_sending(tmp_path, small_disk):
    """Mounted read-only: refused in one line, nothing sent; the dry run and status still read it."""
    with LoopbackServer() as server:
        box = box_for(tmp_path / "box", server.base_url)
        plan = plan_run(small_disk / "run", server.base_url)
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
        session = box.pytest("evals", f"--run={plan.run_dir}", *caps(), *FAST, timeout_s=PATIENCE_S)
        lines = [line for line in session.text.splitlines() if line.startswith("ERROR: ")]
        assert (4, 1, 0) == (session.code, len(lines), server.received), session.text
        assert "Read-only" in lines[0]
        assert 20 == status(plan.run_dir).pending
        assert 0 == box.pytest("evals", f"--run={plan.run_dir}", timeout_s=PATIENCE_S).code


def test_the_lock_of_a_process_that_died_blocks_nobody(tmp_path):
    """Lock files stay; what locks is the process. One that is held is an obstacle only as long as its holder lives."""
    with LoopbackServer() as server:
        box = box_for(tmp_path / "box", server.base_url)
        plan = plan_run(tmp_path / "run", server.base_url)
        holder = subprocess.Popen(["flock", str(plan.run_dir / "workers.lock"), "sleep", "600"], start_new_session=True)
        command = ("evals", f"--run={plan.run_dir}", *caps(), *FAST, "-q")
        try:
            _wait_until_held(plan.run_dir / "workers.lock")
            refused = box.pytest(*command, timeout_s=PATIENCE_S)
            assert (4, 0, True) == (refused.code, server.received, "still alive" in refused.text), refused.text
        finally:
            os.killpg(holder.pid, 9)
            holder.wait()
        assert 0 == box.pytest(*command, timeout_s=PATIENCE_S).code


def _wait_until_held(path: Path) -> None:
    for _ in itertools.repeat(None, 500):
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
        time.sleep(0.02)
    raise AssertionError("nobody takes the lock")
