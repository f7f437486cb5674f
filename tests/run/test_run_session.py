"""Sessions on real processes against a loopback server: locks, caps, kills, resumes, refusals."""

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bench.run.events import read_events
from bench.run.ledger_fold import LedgerState
from bench.run.ledger_records import Stop
from bench.run.locks import is_locked
from bench.run.records_io import iter_terminals, read_run_terminal
from bench.run.resolve import resolve
from bench.run.session import ControllerSession, Invocation, Refusal, Surroundings, WorkerSession
from bench.run.states import trial_states
from bench.run.status import forecast, ledger_totals, read_run, status
from bench.run.trial import run_trial
from tests.loopback import LoopbackServer
from tests.run.conftest import plan_smoke
from tests.run.run_fakes import FakeClock, UnflushedFs

KEY = {"OPENAI_API_KEY": "sk-sentinel-0123456789"}
CHILD = Path(__file__).with_name("sending_child.py")
FAST = {"max_rpm": 10**6, "max_tpm": 10**9}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """Workers read the key from the environment, and from nowhere else."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY["OPENAI_API_KEY"])


@pytest.fixture
def server():
    with LoopbackServer() as running:
        yield running


@pytest.fixture
def live_run(tmp_path, server):
    """A smoke run planned for the loopback server."""
    return plan_smoke(tmp_path / "run", server.base_url)


def live(**changes) -> Invocation:
    values = {"max_generation_calls": 100, "max_http_attempts": 400, "local_token_cap": 10_000_000, **FAST, **changes}
    return Invocation("live", **values)


def start(run_dir, invocation=None, *, clock=None, env=None, **options) -> ControllerSession:
    world = Surroundings(UnflushedFs(), clock or FakeClock(), KEY if env is None else env)
    options = {"require_audit": lambda _: None, **options}
    return ControllerSession.open(run_dir, invocation or live(), world=world, **options)


def child(session, tmp_path, worker="gw0", *, kill=(), share=(0, 1)) -> subprocess.Popen:
    """A worker process of a session, which may be told to kill itself."""
    handoff = tmp_path / "handoff.json"
    handoff.write_text(json.dumps(session.handoff()))
    env = {**os.environ, **KEY, "WORKER_SHARE": str(share[0]), "WORKER_COUNT": str(share[1])}
    command = [sys.executable, str(CHILD), str(handoff), worker, *kill]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_here(session, positions=None):
    """Send trials in this process; their results."""
    worker = WorkerSession.join(session.handoff(), worker="main", fs=UnflushedFs(), clock=FakeClock())
    try:
        wanted = session.pending if positions is None else positions
        return [run_trial(worker.trial(p), worker.client, worker.ledger, worker.store) for p in wanted]
    finally:
        worker.close()


def test_half_a_run_and_its_resume_send_each_trial_once(live_run, server):
    """20 trials, ten in each of two sessions; a third has nothing to do and sends nothing."""
    first = start(live_run)
    run_here(first, first.pending[:10])
    assert first.close().generation_calls == 10
    second = start(live_run)
    assert (second.terminal_count, len(second.pending)) == (10, 10)
    run_here(second)
    second.close()
    third = start(live_run)
    assert (third.pending, third.close().http_attempts) == ((), 0)
    assert (server.generations, max(server.by_hash.values())) == (20, 1)
    assert third.total == sum(
        t is not None for _, t in iter_terminals(live_run, (r.trial_id for r in third.plan.schedule))
    )
    assert status(live_run).complete


def test_totals_of_two_sessions_are_those_of_the_server(live_run, server):
    """What the ledger books is what an independent server billed."""
    for _ in range(2):
        session = start(live_run)
        run_here(session, session.pending[:10])
        end = session.close()
    assert end.known_tokens == server.billed_tokens


@pytest.mark.parametrize(
    ("caps", "generations", "reason"),
    [
        ({"max_generation_calls": 7}, 5, "cap"),
        ({"max_generation_calls": 3}, 3, "cap"),
        ({"max_http_attempts": 23}, 10, "cap"),
        ({"local_token_cap": 26_000}, 2, "cap"),
    ],
)
def test_caps_end_a_session_between_blocks_or_at_what_fits_of_the_first(live_run, server, caps, generations, reason):
    """Blocks of five are whole or not begun, but for the first of an invocation; no cap is passed."""
    session = start(live_run, live(**caps))
    results = run_here(session)
    assert (session.close().stop_reason, server.generations) == (reason, generations)
    assert {result.reason for result in results if result.state == "not_dispatched"} == {reason}
    assert server.counts + server.generations <= caps.get("max_http_attempts", 400)


def test_four_processes_never_pass_the_caps(live_run, server, tmp_path):
    """Counted at the server: generations, attempts; tokens in the ledger."""
    session = start(live_run, live(max_generation_calls=12, max_http_attempts=27, local_token_cap=90_000))
    workers = [child(session, tmp_path, f"gw{n}", share=(n, 4)) for n in range(4)]
    for worker in workers:
        _, errors = worker.communicate(timeout=60)
        assert (worker.returncode, errors) == (0, "")
    end = session.close()
    assert server.generations <= 12
    assert server.received <= 27
    assert (end.known_tokens, end.unresolved_tokens) == (server.billed_tokens, 0)
    assert end.known_tokens <= 90_000


def test_a_wrong_key_costs_one_request_with_four_workers(live_run, tmp_path, server):
    """The first attempt of an invocation goes out alone."""
    server.stop()
    with LoopbackServer([_unauthorized()]) as strict:
        run = plan_smoke(tmp_path / "strict", strict.base_url)
        session = start(run)
        workers = [child(session, tmp_path, f"gw{n}", share=(n, 4)) for n in range(4)]
        for worker in workers:
            worker.communicate(timeout=60)
        assert session.close().stop_reason == "key"
        assert strict.received == 1
    assert set(trial_states(run).values()) <= {"not_dispatched", "pending"}


def _unauthorized():
    from tests.loopback import error_reply

    return error_reply(401, "invalid_api_key")


def ended(process) -> int:
    """The return code of a child that has been waited for."""
    process.communicate(timeout=60)
    return process.returncode


KILLS = [
    ("before the intent is on the disk", ("fsync", "1", "before"), 0, "ambiguous"),
    ("after the intent", ("fsync", "1", "after"), 0, "ambiguous"),
    ("before the body is whole", ("replace attempt-001-body", "1", "before"), 1, "ambiguous"),
    ("after the body", ("replace attempt-001-body", "1", "after"), 1, "terminal"),
    ("after the meta", ("replace attempt-001-meta", "1", "after"), 1, "terminal"),
    ("after the terminal record", ("flush_dir trials", "1", "after"), 1, "terminal"),
]


@pytest.mark.parametrize(("kill", "sent", "state"), [k[1:] for k in KILLS], ids=[k[0].replace(" ", "-") for k in KILLS])
def test_a_process_killed_at_each_step_loses_no_answer_and_pays_for_none_twice(
    live_run, server, tmp_path, kill, sent, state
):
    """SIGKILL, then a new session: what was on the disk is kept, what was in flight is ambiguous, the rest is sent."""
    session = start(live_run)
    victim = child(session, tmp_path, kill=kill)
    assert ended(victim) == -9
    assert server.generations == sent
    session.close()
    following = start(live_run)
    first = following.plan.schedule[0].trial_id
    assert (following.trial_state(0).state, 0 in following.pending) == (state, False)
    run_here(following)
    end = following.close()
    assert max(server.by_hash.values()) == 1
    assert server.generations == (19 if state == "ambiguous" else 20) + (sent if state == "ambiguous" else 0)
    assert end.known_tokens + end.unresolved_tokens >= server.billed_tokens
    assert (read_run_terminal(live_run, first) is not None) == (state == "terminal")


def test_a_worker_that_dies_holds_nobody_up(live_run, tmp_path):
    """Its block returns to the others, its trial is ambiguous, in the same session."""
    session = start(live_run, live(local_token_cap=90_000))
    victim = child(session, tmp_path, "gw0", kill=("fsync", "1", "after"))
    assert ended(victim) == -9
    session.worker_gone("gw0")
    assert session.trial_state(0).state == "ambiguous"
    results = run_here(session, session.pending[1:])
    assert {result.state for result in results} <= {"terminal", "not_dispatched"}
    assert results[0].state == "terminal"
    session.close()


def test_a_second_session_is_refused_and_a_dead_one_is_no_obstacle(live_run, tmp_path):
    """flock: held while its process lives, gone with it."""
    session = start(live_run)
    with pytest.raises(Refusal, match="another session holds this run"):
        start(live_run)
    session.close()
    script = (
        "import sys,os,signal;sys.path.insert(0,sys.argv[2]);from pathlib import Path;"
        "from bench.run.fs import OsFs;from bench.run.locks import lock_session;"
        "held=lock_session(OsFs(),Path(sys.argv[1]));os.kill(os.getpid(),signal.SIGKILL)"
    )
    root = str(Path(__file__).parents[2])
    subprocess.run([sys.executable, "-c", script, str(live_run), root], check=False)
    start(live_run).close()


def test_orphans_of_a_killed_session_keep_the_next_one_out(live_run):
    """A worker's share of workers.lock outlives its controller."""
    session = start(live_run)
    orphan = WorkerSession.join(session.handoff(), worker="gw0")
    session.close()
    with pytest.raises(Refusal, match="still alive"):
        start(live_run)
    orphan.close()
    start(live_run).close()


def test_a_worker_of_an_older_session_sends_nothing(live_run, server):
    """It joined late, a new session has begun: every decision refuses it."""
    old = start(live_run)
    told = old.handoff()
    old.close()
    new = start(live_run)
    late = WorkerSession.join(told, worker="gw0")
    result = run_trial(late.trial(0), late.client, late.ledger, late.store)
    assert (result.state, result.reason, server.received) == ("not_dispatched", "superseded", 0)
    late.close()
    new.close()


def test_the_first_dispatch_binds_a_run_to_its_backend(live_run):
    """Live and mock answers are never mixed in one run; a session that sent nothing binds nothing."""
    start(live_run, Invocation("mock-oracle")).close()
    session = start(live_run)
    run_here(session, [0])
    session.close()
    with pytest.raises(Refusal, match="backend live, not mock-oracle"):
        start(live_run, Invocation("mock-oracle"))


@pytest.mark.parametrize(
    ("invocation", "env", "words"),
    [
        (Invocation("live", max_generation_calls=1, max_http_attempts=1), None, "needs --local-token-cap"),
        (live(max_rpm=0), None, "--max-rpm 0"),
        (live(local_token_cap=-5), None, "--local-token-cap -5"),
        (Invocation("mockery"), None, "mock-<mode>"),
        (live(), {}, "OPENAI_API_KEY is not set"),
        (live(), {**KEY, "OPENAI_BASE_URL": "https://elsewhere.example/v1"}, "OPENAI_BASE_URL"),
        (live(), {**KEY, "OPENAI_MODEL": "other"}, "OPENAI_MODEL"),
        (live(), {"OPENAI_API_KEY": "sk-a b"}, "OPENAI_API_KEY"),
        (Invocation("local"), None, "planned for model"),
    ],
)
def test_a_session_that_may_not_begin_is_refused_in_one_line(live_run, server, invocation, env, words):
    """Nothing is sent, nothing is held, no secret is shown."""
    with pytest.raises(Refusal, match=words) as refusal:
        start(live_run, invocation, env=env)
    assert "\n" not in str(refusal.value)
    assert "sk-" not in str(refusal.value)
    assert server.received == 0
    start(live_run).close()


def test_an_edited_plan_file_is_refused_by_name(live_run):
    """Resume hashes every plan file again."""
    path = live_run / "cases.jsonl"
    path.write_bytes(path.read_bytes().replace(b"4", b"5", 1))
    with pytest.raises(Refusal, match=r"cases\.jsonl"):
        start(live_run)


def test_a_damaged_ledger_is_refused_by_line(live_run):
    """A changed byte in the middle: nothing is sent from it."""
    session = start(live_run)
    run_here(session, [0])
    session.close()
    path = live_run / "usage-ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"tokens":', b'"tokenz":', 1))
    with pytest.raises(Refusal, match="line "):
        start(live_run)


def test_a_read_only_run_is_refused(live_run):
    """Before sending, naming the remedy."""

    class ReadOnly(UnflushedFs):
        def open_append(self, path):
            raise OSError(30, "Read-only file system")

    with pytest.raises(Refusal, match="writable"):
        ControllerSession.open(
            live_run, live(), require_audit=lambda _: None, world=Surroundings(ReadOnly(), FakeClock(), KEY)
        )


def test_the_lock_of_a_read_only_copy_is_held_by_nobody(live_run):
    """A published run on a read-only disk can be looked at; the same lock on a writable one tells who holds it."""

    class ReadOnly(UnflushedFs):
        def open_append(self, path):
            raise OSError(30, "Read-only file system")

    session = start(live_run)
    assert [True, False] == [is_locked(fs, live_run) for fs in (UnflushedFs(), ReadOnly())]
    session.close()
    assert is_locked(UnflushedFs(), live_run) is False


@pytest.mark.parametrize(("detail", "told"), [("", "interrupt"), ("by hand", "interrupt: by hand")])
def test_a_stop_without_detail_is_told_without_a_colon(detail, told):
    """What status prints as the last stop."""
    state = LedgerState()
    state.last_stop = Stop("i1", "interrupt", "all", detail)
    assert ledger_totals(state).last_stop == told


def test_a_raised_cap_is_told_with_old_and_new_value(live_run):
    """Same day, another cap: in the ledger and in the events."""
    start(live_run, live(local_token_cap=1000)).close()
    start(live_run, live(local_token_cap=2000)).close()
    changes = [event for event in read_events(live_run) if event["kind"] == "token_cap_changed"]
    assert [(event["old"], event["new"]) for event in changes] == [(1000, 2000)]
    assert [line for line in (live_run / "usage-ledger.jsonl").read_text().splitlines() if '"kind":"cap"' in line]


def test_what_an_earlier_day_left_unresolved_blocks_until_accepted_or_resolved(live_run, tmp_path):
    """Carry-over: shown, never forgotten at midnight, never mixed into the new day's budget."""
    session = start(live_run)
    assert ended(child(session, tmp_path, kill=("fsync", "1", "after"))) == -9
    session.close()
    tomorrow = FakeClock()
    tomorrow.wall = tomorrow.wall.replace(year=2099)
    with pytest.raises(Refusal, match="--accept-carryover"):
        start(live_run, clock=tomorrow)
    accepted = start(live_run, live(accept_carryover=True), clock=tomorrow)
    end = accepted.close()
    assert (end.known_tokens, end.unresolved_tokens, end.carried_tokens > 8000) == (0, 0, True)
    trial = accepted.plan.schedule[0].trial_id
    assert "booked as 7" in resolve(live_run, trial[:12], tokens=7)
    assert start(live_run, clock=tomorrow).close().carried_tokens == 0
    assert read_run_terminal(live_run, trial).ending == "ambiguous_outcome"
    with pytest.raises(Refusal, match="nothing is unresolved"):
        resolve(live_run, trial, tokens=None)


def test_an_interrupt_of_one_worker_stops_the_others(live_run, server):
    """A stop is looked at before every dispatch, whoever wrote it."""
    session = start(live_run)
    worker = WorkerSession.join(session.handoff(), worker="gw0")
    run_trial(worker.trial(0), worker.client, worker.ledger, worker.store)
    stopper = threading.Thread(target=session.request_stop, args=("interrupt",))
    stopper.start()
    stopper.join()
    result = run_trial(worker.trial(1), worker.client, worker.ledger, worker.store)
    assert (result.state, result.reason, server.generations) == ("not_dispatched", "interrupt", 1)
    worker.close()
    assert session.close().stop_reason == "interrupt"


def test_the_key_is_nowhere_in_the_run_directory(live_run, server):
    """No file of a run holds it."""
    session = start(live_run)
    run_here(session)
    session.close()
    files = [path for path in live_run.rglob("*") if path.is_file()]
    assert len(files) > 100
    assert [path for path in files if KEY["OPENAI_API_KEY"].encode() in path.read_bytes()] == []


def test_a_forecast_counts_what_is_pending_and_sends_nothing(live_run, server):
    """Requests and worst-case tokens of the dry run; less of both once something is done."""
    before = forecast(read_run(live_run))
    assert (before.generation_requests, before.count_requests) == (20, 20)
    session = start(live_run)
    run_here(session, session.pending[:5])
    session.close()
    received = server.received
    after = forecast(read_run(live_run))
    assert (after.generation_requests, after.worst_case_tokens < before.worst_case_tokens) == (15, True)
    assert server.received == received


def test_torn_tails_of_the_logs_are_set_aside_at_the_start(live_run):
    """Events and counts too: noted, not lost, not glued to the next line."""
    session = start(live_run)
    run_here(session, [0])
    session.close()
    for name in ("events.jsonl", "token-counts.jsonl", "usage-ledger.jsonl"):
        with (live_run / name).open("ab") as file:
            file.write(b'{"torn')
    session = start(live_run)
    assert sorted(session.recovered.torn) == [
        "events.jsonl.torn-1",
        "token-counts.jsonl.torn-1",
        "usage-ledger.jsonl.torn-1",
    ]
    session.close()
    assert {event["kind"] for event in read_events(live_run)} >= {"session_opened", "torn_tail_set_aside"}


def test_a_worker_imports_nothing_heavy():
    """What only sends stays free of pandas, scipy, matplotlib and numpy."""
    script = (
        "import sys;sys.path.insert(0,sys.argv[1]);import bench.run.session,bench.run.trial;"
        "print([n for n in ('pandas','scipy','matplotlib','numpy') if n in sys.modules])"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", script, root], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_disk_full_at_any_write_of_a_session_is_said_in_one_line(live_run, tmp_path):
    """A start on a full disk refuses; the run is as good as before."""
    from tests.run.run_fakes import FaultyFs

    lines: list[str] = []
    for operation in range(1, 40):
        copy = tmp_path / f"copy{operation}"
        shutil.copytree(live_run, copy)
        fs = FaultyFs("ENOSPC", at=operation)
        try:
            ControllerSession.open(
                copy, live(), require_audit=lambda _: None, world=Surroundings(fs, FakeClock(), KEY)
            ).close()
        except Refusal as refusal:
            lines.append(str(refusal))
        else:
            break
        start(copy).close()
    assert 3 < operation < 39
    assert [line for line in lines if "\n" in line or "free space" not in line] == []
