"""Every operation of a trial fails once, in every way; afterwards the books balance and the run goes on."""

import shutil

import pytest

from bench.run.ledger import SessionBrokenError
from bench.run.records_io import read_run_terminal
from bench.run.trial import run_trial
from tests.run.run_fakes import FakeClient, FakeClock, FaultyFs, Killed, answer, api_error, bench_on
from tests.run.test_run_recover import recovered

MODES = ("EIO", "ENOSPC", "short write", "torn write", "killed before", "killed after")


def one_trial(run_dir, fs, client):
    """Run the first trial on a file system that fails; whether it came through."""
    clock = FakeClock()
    try:
        bench = bench_on(run_dir, client, fs=fs, clock=clock)
        run_trial(bench.trial(), client, bench.session, bench.store)
    except (Killed, SessionBrokenError, OSError):
        return False
    return True


def check(run_dir, client):
    """After any fault: what was generated is charged or booked, and no trial is generated twice."""
    bench, _ = recovered(run_dir)
    state = bench.ledger.refresh()
    assert state.known + state.unresolved + state.in_flight >= 105 * client.generations
    trial = bench.trial()
    result = run_trial(trial, bench.client, bench.session, bench.store)
    if result.state == "ambiguous":
        assert (client.generations <= 1, bench.client.sent) == (True, [])
    else:
        assert (result.ending, client.generations + bench.client.generations) == ("answered", 1)
        assert read_run_terminal(run_dir, trial.trial_id).text == "4242"


@pytest.mark.parametrize("mode", MODES)
def test_every_operation_may_fail_once(run_dir, tmp_path, mode):
    """Fail at operation N for N = 1, 2, ... until a trial comes through untouched."""
    operations = 0
    while True:
        operations += 1
        copy = tmp_path / f"run-{operations}"
        shutil.copytree(run_dir, copy)
        fs, client = FaultyFs(mode, at=operations), FakeClient(answer("4242"))
        one_trial(copy, fs, client)
        check(copy, client)
        shutil.rmtree(copy)
        if len(fs.done) < operations:
            break
    assert operations > 30


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "first", [api_error(429, "rate_limit_exceeded"), api_error(400, "x"), answer("4242", tokens=None)]
)
def test_every_operation_may_fail_once_on_every_path(run_dir, tmp_path, mode, first):
    """The same on the paths of a retry, of a rejection and of a missing usage."""
    operations = 0
    while True:
        operations += 1
        copy = tmp_path / f"run-{operations}"
        shutil.copytree(run_dir, copy)
        fs, client = FaultyFs(mode, at=operations), FakeClient(first, answer("4242"))
        one_trial(copy, fs, client)
        bench, _ = recovered(copy)
        state = bench.ledger.refresh()
        assert state.in_flight == 0
        again = run_trial(bench.trial(), bench.client, bench.session, bench.store)
        assert again.state in ("terminal", "ambiguous")
        shutil.rmtree(copy)
        if len(fs.done) < operations:
            break
