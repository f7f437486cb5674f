"""A kill after each step of an attempt, and what the next session makes of it."""

import json

import pytest

from bench.run.clock import SystemClock
from bench.run.course import Course
from bench.run.ledger_fold import TrialLedger
from bench.run.prepare import requests_of
from bench.run.records_io import read_meta, read_run_terminal, trial_dir
from bench.run.recover import Recovery, RecoveryReport
from bench.run.states import trial_states
from bench.run.trial import run_trial
from tests.run.run_fakes import LOST, FakeClient, FaultyFs, Killed, answer, api_error, bench_on, count_answer

RESERVED = 100 + 8192 + 256


class StopAt(FaultyFs):
    """Dies right before the operation whose name begins so, the ``skip``-th time that it comes."""

    def __init__(self, name: str, skip: int = 0) -> None:
        super().__init__()
        self.name, self.skip = name, skip

    def _fault(self, name: str) -> str | None:
        self.done.append(name)
        if name.startswith(self.name):
            if self.skip == 0:
                raise Killed
            self.skip -= 1
        return None


def killed_run(run_dir, fs, *answers):
    """The trial of a process that dies at a point of its file system; the folded ledger and the client after it."""
    client = FakeClient(*answers)
    bench = bench_on(run_dir, client, fs=fs)
    with pytest.raises(Killed):
        run_trial(bench.trial(), client, bench.session, bench.store)
    return bench.trial().trial_id, client


def recovered(run_dir):
    """What a recovery makes of the run, then the state of the ledger in the next invocation."""
    client = FakeClient(answer("4242"))
    return bench_on_closed(run_dir, client)


def bench_on_closed(run_dir, client):
    from bench.llm.redact import Redactor
    from bench.plan.plan_files import Plan
    from bench.plan.run_files import LEDGER_FILE
    from bench.run.ledger import Ledger
    from bench.run.store import RunStore

    plan = Plan.open(run_dir, verify=False)
    fs = FaultyFs()
    ledger = Ledger(run_dir / LEDGER_FILE, fs=fs, clock=SystemClock())
    store = RunStore(run_dir, run=plan.protocol_hash, redactor=Redactor(()), fs=fs)
    report = RecoveryReport()
    Recovery(ledger, store, SystemClock(), requests_of(plan)).run(report)
    return bench_on(run_dir, client), report


def test_killed_before_the_body_was_stored(run_dir):
    """Dispatched, nothing on the disk: ambiguous, charged, not sent again by itself."""
    trial, first = killed_run(run_dir, StopAt("open_new attempt-001-body"), answer("4242"))
    bench, report = recovered(run_dir)
    state = bench.ledger.refresh()
    assert (first.generations, report.ambiguous, state.unresolved, state.known) == (1, 1, RESERVED, 0)
    assert run_trial(bench.trial(), bench.client, bench.session, bench.store).state == "ambiguous"
    assert (bench.client.sent, trial_states(run_dir)[trial]) == ([], "ambiguous")


def test_killed_before_the_body_got_its_final_name(run_dir):
    """A temporary name proves nothing: ambiguous."""
    killed_run(run_dir, StopAt("replace attempt-001-body"), answer("4242"))
    bench, report = recovered(run_dir)
    assert (report.ambiguous, bench.ledger.refresh().unresolved) == (1, RESERVED)


def test_killed_after_the_body(run_dir):
    """The answer is whole: meta, terminal and settle are rebuilt, nothing is sent."""
    trial, _ = killed_run(run_dir, StopAt("open_new attempt-001-meta"), answer("4242", tokens=(90, 7)))
    bench, report = recovered(run_dir)
    terminal, meta = read_run_terminal(run_dir, trial), read_meta(trial_dir(run_dir, trial), 1)
    assert (report.rebuilt, terminal.ending, terminal.text, terminal.rebuilt) == (1, "answered", "4242", True)
    assert (meta.http_status, meta.rebuilt, terminal.counted_input_tokens) == (None, True, 100)
    state = bench.ledger.refresh()
    assert (state.known, state.unresolved, bench.client.sent) == (97, 0, [])


def test_killed_after_a_body_that_is_no_answer(run_dir):
    """An error's body without its status: nobody can tell whether it was billed."""
    trial, _ = killed_run(run_dir, StopAt("open_new attempt-001-meta"), api_error(503))
    bench, report = recovered(run_dir)
    assert (report.ambiguous, bench.ledger.refresh().unresolved) == (1, RESERVED)
    assert read_run_terminal(run_dir, trial) is None


def test_killed_after_the_meta_of_an_answer(run_dir):
    """Terminal and settle are rebuilt from body and meta."""
    trial, _ = killed_run(run_dir, StopAt("open_new terminal.json"), answer("4242"))
    bench, report = recovered(run_dir)
    terminal = read_run_terminal(run_dir, trial)
    assert (report.rebuilt, terminal.ending, terminal.attempts[0].http_status) == (1, "answered", 200)
    assert bench.ledger.refresh().known == 105


@pytest.mark.parametrize(
    ("came", "known", "unresolved"),
    [(api_error(429, "rate_limit_exceeded"), 0, 0), (api_error(500), 0, RESERVED)],
)
def test_killed_after_the_meta_of_a_retryable_status(run_dir, came, known, unresolved):
    """Settled by its rule; the trial stays pending with the attempts that are left."""
    fs = StopAt("write", skip=count_writes_until_meta(run_dir, came))
    trial, _ = killed_run(run_dir, fs, came)
    bench, _ = recovered(run_dir)
    state = bench.ledger.refresh()
    assert (state.known, state.unresolved, state.trials[trial].series_attempts) == (known, unresolved, 1)
    assert trial_states(run_dir)[trial] == "pending"
    assert run_trial(bench.trial(), bench.client, bench.session, bench.store).ending == "answered"
    assert [timing.number for timing in read_run_terminal(run_dir, trial).attempts] == [2]


def count_writes_until_meta(run_dir, came):
    """How many writes a first attempt makes up to and including its meta file, learned on a copy of the run."""
    import shutil

    copy = run_dir.with_name("copy")
    shutil.copytree(run_dir, copy)
    fs = StopAt("replace attempt-001-meta")
    killed_run(copy, fs, came)
    return fs.done.count("write")


def test_killed_after_the_terminal_record(run_dir):
    """Only the settle is missing: it is booked from the record."""
    trial, _ = killed_run(run_dir, StopAt("fsync_dir", skip=1), answer("4242"))
    assert read_run_terminal(run_dir, trial).rebuilt is False
    bench, report = recovered(run_dir)
    assert (report.settled, report.rebuilt, bench.ledger.refresh().known) == (1, 0, 105)
    assert run_trial(bench.trial(), bench.client, bench.session, bench.store).state == "terminal"
    assert bench.client.sent == []


def test_a_reservation_that_was_never_sent_is_freed(run_dir):
    """Torn between reserve and intent: provably not sent."""
    killed_run(run_dir, StopAt("write", skip=5), answer("4242"))
    lines = (run_dir / "usage-ledger.jsonl").read_bytes().splitlines(keepends=True)
    last_reserve = max(n for n, line in enumerate(lines) if b'"kind":"reserve"' in line)
    (run_dir / "usage-ledger.jsonl").write_bytes(b"".join(lines[: last_reserve + 1]))
    bench, _ = recovered(run_dir)
    assert bench.ledger.refresh().charged == 0


def test_a_torn_meta_file_is_no_obstacle(run_dir):
    """It can be rebuilt from the body."""
    trial, _ = killed_run(run_dir, StopAt("open_new terminal.json"), answer("4242"))
    (trial_dir(run_dir, trial) / "attempt-001-meta.json").write_bytes(b'{"trial_id":')
    _, report = recovered(run_dir)
    assert (report.rebuilt, read_run_terminal(run_dir, trial).text) == (1, "4242")


def test_killed_while_counting_leaves_nothing_ambiguous(run_dir):
    """A count bills nothing: the trial is simply pending."""
    client = FakeClient(answer("4242"))
    client.on_send = lambda _path: (_ for _ in ()).throw(Killed())
    bench = bench_on(run_dir, client)
    with pytest.raises(Killed):
        run_trial(bench.trial(), client, bench.session, bench.store)
    following, report = recovered(run_dir)
    assert report == RecoveryReport()
    assert run_trial(following.trial(), following.client, following.session, following.store).ending == "answered"


def test_an_ambiguous_error_on_disk_stays_ambiguous(run_dir):
    """A connection that broke: its meta says so, and so it stays after any number of recoveries."""
    client = FakeClient(LOST)
    bench = bench_on(run_dir, client)
    run_trial(bench.trial(), client, bench.session, bench.store)
    for _ in range(2):
        following, report = recovered(run_dir)
        assert (report.ambiguous, following.ledger.refresh().unresolved) == (1, RESERVED)


def test_recovering_twice_changes_nothing(run_dir):
    """A kill of the recovery itself: the next one goes on."""
    trial, _ = killed_run(run_dir, StopAt("open_new attempt-001-meta"), answer("4242"))
    recovered(run_dir)
    before = (trial_dir(run_dir, trial) / "terminal.json").read_bytes()
    bench, report = recovered(run_dir)
    assert report == RecoveryReport()
    assert (trial_dir(run_dir, trial) / "terminal.json").read_bytes() == before
    assert bench.ledger.refresh().known == 105


@pytest.mark.parametrize("lost", [["terminal.json"], ["terminal.json", "attempt-001-meta.json"]])
def test_a_lost_terminal_record_comes_back_from_the_stored_answer(run_dir, lost):
    """Paid for, settled, and on the disk: nobody sends it again because a file beside it was deleted."""
    bench = bench_on(run_dir, client := FakeClient(answer("4242")))
    trial = run_trial(bench.trial(), client, bench.session, bench.store).trial_id
    before = read_run_terminal(run_dir, trial)
    for name in lost:
        (trial_dir(run_dir, trial) / name).unlink()
    following, report = recovered(run_dir)
    assert (report, following.ledger.refresh().known) == (RecoveryReport(rebuilt=1), 105)
    after = read_run_terminal(run_dir, trial)
    assert (after.text, after.ending, after.usage, after.rebuilt) == (before.text, before.ending, before.usage, True)
    assert run_trial(following.trial(), following.client, following.session, following.store).state == "terminal"
    assert following.client.sent == []


def test_a_trial_whose_try_failed_is_not_ended_by_its_error_page(run_dir):
    """A retry was due when the session stopped: the body on the disk is no answer, the trial is sent again."""
    killed_run(run_dir, StopAt("replace attempt-002-body"), api_error(503), answer("4242"))
    lines = (run_dir / "usage-ledger.jsonl").read_bytes().splitlines(keepends=True)
    second = max(n for n, line in enumerate(lines) if b'"kind":"reserve"' in line)
    (run_dir / "usage-ledger.jsonl").write_bytes(b"".join(lines[:second]))
    following, report = recovered(run_dir)
    assert report == RecoveryReport()
    assert run_trial(following.trial(), following.client, following.session, following.store).ending == "answered"


def test_counting_a_trial_that_has_ended_leaves_its_end_alone(run_dir):
    """A run that was sent without counts may be counted afterwards: nothing is opened again by that."""
    bench = bench_on(run_dir, client := FakeClient(answer("4242")))
    trial = run_trial(bench.trial(), client, bench.session, bench.store).trial_id
    seen = bench.session.trial(trial)
    numbers = TrialLedger(series=seen.series, attempts=seen.attempts, counts=seen.counts)
    Course(bench.trial(), client, bench.session, bench.store, numbers).count_only()
    assert read_run_terminal(run_dir, trial).text == "4242"


def test_the_stored_body_is_the_one_that_came(run_dir):
    """Byte for byte."""
    came = answer("4242")
    bench = bench_on(run_dir, client := FakeClient(came, counted=count_answer(100)))
    result = run_trial(bench.trial(), client, bench.session, bench.store)
    stored = (trial_dir(run_dir, result.trial_id) / "attempt-001-body.txt").read_bytes()
    assert (stored, json.loads(stored)["object"]) == (came.body, "response")
