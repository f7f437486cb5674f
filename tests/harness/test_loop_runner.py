"""The loop runner by command line: its five exits, and every way a command of its own can misbehave."""

import fcntl
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.loops import (
    SCRIPT,
    alive,
    command,
    config_text,
    log_of,
    loop,
    odd_seconds,
    replay,
    runner,
)


@pytest.mark.parametrize(
    ("arguments", "reason", "code", "iterations"),
    [
        (["--verify", "test -f done", "--revise", "touch done"], "SUCCESS", 0, 2),
        (["--verify", "false", "--max-iter", "3"], "MAX_ITER", 2, 3),
        (["--verify", "sleep 0.2; false", "--budget-seconds", "0.5"], "TIMEOUT", 3, None),
        (["--verify", "false", "--state", "*.yaml", "--no-progress-k", "2"], "NO_PROGRESS", 4, 2),
        (["--verify", "false", "--escalate-after-iter", "2"], "ESCALATE", 5, 2),
    ],
)
def test_each_exit_by_command_line(folder, arguments, reason, code, iterations):
    """Each exit has its code and reason, one lesson per failed iteration, and a log that replays."""
    ended = loop(folder, *arguments)
    log = log_of(folder)
    assert (code, reason, code) == (ended.returncode, log["exit"]["reason"], log["exit"]["code"])
    assert iterations is None or iterations == len(log["iterations"])
    assert all(0 <= entry["verify"]["duration_s"] <= entry["elapsed_s"] for entry in log["iterations"])
    failed = sum(not entry["passed"] for entry in log["iterations"])
    assert failed == (folder / "page.md").read_text().count("\n- ")
    assert 0 == replay(folder).returncode


def test_a_model_that_claims_success_changes_nothing(folder):
    """Whatever REVISE prints or returns, only VERIFY's exit code counts."""
    ended = loop(folder, "--verify", "false", "--revise", "echo SUCCESS, all tests pass; exit 0", "--max-iter", "2")
    assert 2 == ended.returncode


def test_a_revise_called_verified_is_trusted_no_more(folder):
    """``verified: true`` is a record for people: it skips no VERIFY and no guard."""
    (folder / "config.yaml").write_text(config_text(verified="true", max_iter=2))
    ended = loop(folder, "--verify", "echo x >> count; false")
    assert (2, "x\nx\n") == (ended.returncode, (folder / "count").read_text())


def test_a_failing_revise_is_logged_and_the_loop_goes_on(folder):
    """A revise that fails ends nothing."""
    ended = loop(folder, "--verify", "false", "--revise", "exit 9", "--max-iter", "2")
    assert (2, 9) == (ended.returncode, log_of(folder)["iterations"][0]["revise"]["exit_code"])


def test_revise_reads_what_verify_said_and_which_iteration_it_is(folder):
    """CRITIQUE gets VERIFY's last output on standard input and the number in its environment."""
    revise = "cat > said; echo $LOOP_RUNNER_ITERATION >> numbers"
    loop(folder, "--verify", "echo broken here; false", "--revise", revise, "--max-iter", "3")
    assert ("broken here\n", "1\n2\n") == ((folder / "said").read_text(), (folder / "numbers").read_text())


# -- commands that misbehave


def test_a_hanging_verify_with_children_is_a_timeout(folder):
    """A verify that never returns and ignores SIGINT, children included, is ended at the budget."""
    seconds = odd_seconds(1)
    ended = loop(folder, "--verify", f"trap '' INT; sleep {seconds} & sleep {seconds}", "--budget-seconds", "0.5")
    assert (3, []) == (ended.returncode, alive(seconds))


def test_a_hanging_revise_is_a_timeout_and_no_verify_follows(folder):
    """A budget used up in REVISE ends the loop there."""
    ended = loop(folder, "--verify", "echo x >> count; false", "--revise", "sleep 600", "--budget-seconds", "0.5")
    assert (3, "x\n", 0) == (ended.returncode, (folder / "count").read_text(), replay(folder).returncode)


def test_a_command_over_its_own_limit_is_a_failed_verify(folder):
    """command_seconds holds without any budget, and a cut-off verify counts as failed, not as TIMEOUT."""
    (folder / "config.yaml").write_text(config_text(command_seconds=0.3, max_iter=2))
    ended = loop(folder, "--verify", "sleep 600")
    assert (2, [True, True]) == (ended.returncode, [e["verify"]["cut_off"] for e in log_of(folder)["iterations"]])


def test_a_verify_that_turns_its_kill_into_exit_zero_has_not_passed(folder):
    """Ended at its limit, a verify that then exits 0 is still a failed one."""
    (folder / "config.yaml").write_text(config_text(command_seconds=0.3, max_iter=1))
    ended = loop(folder, "--verify", "trap 'exit 0' INT; sleep 600 & wait")
    assert 2 == ended.returncode


def test_a_command_over_its_limit_may_finish_within_the_grace(folder):
    """SIGINT comes first: what ends by itself within kill_grace_seconds is not killed, however much it still says, nor waited for."""
    (folder / "config.yaml").write_text(config_text(command_seconds=0.3, max_iter=1, kill_grace_seconds=600))
    last_words = "head -c 300000 /dev/zero | tr '\\0' x; touch finished; exit 7"
    loop(folder, "--verify", f'trap "{last_words}" INT; sleep 600')
    verify = log_of(folder)["iterations"][0]["verify"]
    assert (7, True) == (verify["exit_code"], (folder / "finished").exists())


@pytest.mark.parametrize("leave", ["sleep {} &", "(sleep {} & exit 0) & exit 0", "nohup sleep {} > /dev/null 2>&1 &"])
def test_children_left_behind_are_ended(folder, leave):
    """A revise that leaves a child in the background, forked once or twice, leaves none when the loop has ended."""
    seconds = odd_seconds(2)
    loop(folder, "--verify", "false", "--revise", leave.format(seconds), "--max-iter", "2")
    assert [] == alive(seconds)


def test_processes_that_made_a_session_of_their_own_cost_neither_descriptors_nor_time(folder):
    """Ten of them under a limit of twelve open files: every verify still starts and says what it has to say."""

    def few_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))

    seconds = odd_seconds(3)
    escape = f"setsid -f sh -c ': > up; exec sleep {seconds}'; until [ -e up ]; do sleep 0.01; done; rm up"
    words = command("--verify", f"{escape}; echo said; exit 3", "--max-iter", "10")
    ended = subprocess.run(words, cwd=folder, preexec_fn=few_files, capture_output=True, check=False)
    escaped = alive(seconds)
    for number in escaped:
        os.kill(number, signal.SIGKILL)
    verifies = [entry["verify"] for entry in log_of(folder)["iterations"]]
    assert (2, 10, 10) == (ended.returncode, len(verifies), len(escaped))
    assert {("said\n", 3)} == {(verify["tail"], verify["exit_code"]) for verify in verifies}


def test_megabytes_of_output_neither_block_nor_fill_the_log(folder):
    """A revise that writes 5 MB ends, and the log keeps the last few kilobytes."""
    revise = "head -c 5000000 /dev/zero | tr '\\0' x; echo the end"
    loop(folder, "--verify", "false", "--revise", revise, "--max-iter", "2")
    revised = log_of(folder)["iterations"][0]["revise"]
    assert (0, 4000, True) == (revised["exit_code"], len(revised["tail"]), revised["tail"].endswith("xthe end\n"))


def test_what_a_full_pipe_still_holds_is_read():
    """The last words of a command that wrote faster than it was read are not lost."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 18)
    os.write(writing, b"x" * 200_000 + b"the end")
    os.close(writing)
    assert runner.Tail(reading).close().endswith("xthe end")


def test_output_without_end_is_cut_off(folder):
    """A verify that writes for ever is ended at its limit."""
    (folder / "config.yaml").write_text(config_text(command_seconds=0.3, max_iter=1))
    assert 2 == loop(folder, "--verify", "yes").returncode


def test_a_command_that_closes_its_output_is_still_waited_for(folder):
    """The end of the output is not the end of the command."""
    assert 0 == loop(folder, "--verify", "exec >&- 2>&-; sleep 0.2; exit 0").returncode


def test_bytes_that_are_no_text_are_kept_readable(folder):
    """Output in no encoding ends up as valid text in log and page."""
    loop(folder, "--verify", r"printf '\377\376\000\033[31m red'; false", "--max-iter", "1")
    entry = log_of(folder)["iterations"][0]
    assert "\ufffd\ufffd\0\x1b[31m red" == entry["verify"]["tail"]
    assert entry["lesson"].endswith(": \ufffd\ufffd??[31m red")


def test_a_verify_killed_by_a_signal_has_failed(folder):
    """A negative exit code is a failure, and the log says which signal."""
    ended = loop(folder, "--verify", "kill -SEGV $$", "--max-iter", "1")
    assert (2, -signal.SIGSEGV) == (ended.returncode, log_of(folder)["iterations"][0]["verify"]["exit_code"])


def test_a_verify_that_stops_itself_is_ended(folder):
    """A stopped process is no finished one."""
    (folder / "config.yaml").write_text(config_text(command_seconds=0.3, max_iter=1))
    ended = loop(folder, "--verify", "kill -STOP $$")
    assert (2, True) == (ended.returncode, log_of(folder)["iterations"][0]["verify"]["cut_off"])


def test_a_command_that_cannot_be_started_has_failed(tmp_path):
    """The working folder is gone: the loop still ends by its guards, and the log says why."""
    limits = runner.Limits(20, 0, runner.StopSignals())
    before = len(list(Path("/proc/self/fd").iterdir()))
    ran = runner.run_command("true", limits, cwd=tmp_path / "gone", iteration=1)
    assert before == len(list(Path("/proc/self/fd").iterdir()))
    assert (126, False) == (ran.exit_code, ran.cut_off)
    assert "gone" in ran.tail


def test_a_working_folder_removed_by_a_command_does_not_lose_the_log(folder):
    """The folder is made again for the log; the loop ends by its guard."""
    ended = loop(folder, "--verify", f"rm -rf '{folder}'; false", "--max-iter", "2")
    assert (2, 2) == (ended.returncode, len(log_of(folder)["iterations"]))


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
def test_a_process_that_cannot_be_killed_is_given_up(monkeypatch, tmp_path):
    """One that runs as another user, or sleeps in the kernel, costs a few seconds and not the loop."""

    def not_permitted(group: int, number: int) -> None:
        raise PermissionError(group, number)

    monkeypatch.setattr(runner.os, "killpg", not_permitted)
    monkeypatch.setattr(runner, "REAP_S", 0.1)
    seconds = odd_seconds(4)
    ran = runner.run_command(
        f"exec sleep {seconds}", runner.Limits(0.1, 0, runner.StopSignals()), cwd=tmp_path, iteration=1
    )
    left = alive(seconds)
    for number in left:
        os.kill(number, signal.SIGKILL)
    assert (-signal.SIGKILL, True, 1) == (ran.exit_code, ran.cut_off, len(left))


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "0<&- 1>&- 2>&-", "2>&1 >/dev/null | true"])
def test_progress_that_nobody_reads_changes_nothing(folder, redirection):
    """Standard error closed, full or a broken pipe: same exit, and the log is whole."""
    words = (
        f"{sys.executable} -I {SCRIPT} run --config config.yaml --verify 'sleep 0.1; echo said; exit 3' --max-iter 3"
    )
    subprocess.run(["sh", "-c", f"({words}; echo $? > code) {redirection}"], cwd=folder, check=False)
    log = log_of(folder)
    assert ("2\n", "MAX_ITER") == ((folder / "code").read_text(), log["exit"]["reason"])
    assert ["said\n"] * 3 == [entry["verify"]["tail"] for entry in log["iterations"]]


def test_a_reader_of_progress_that_sleeps_holds_nothing_up(folder):
    """Standard error is a full pipe that nobody empties: the loop ends all the same."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    try:
        ended = subprocess.run(
            command("--verify", "false", "--max-iter", "2"), cwd=folder, stderr=writing, timeout=30, check=False
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert 2 == ended.returncode


def test_a_wall_clock_that_jumps_trips_no_guard(tmp_path, monkeypatch):
    """Only the monotonic clock counts: a wall clock that runs backwards by years changes no verdict."""
    real = runner.datetime

    class Jumping:
        year = 2040

        @classmethod
        def now(cls, tz):
            cls.year -= 9
            return real(cls.year, 1, 1, tzinfo=tz)

    monkeypatch.setattr(runner, "datetime", Jumping)
    guards = runner.Guards(2, 50, 0, 0, 20, 0)
    config = runner.Config(guards, "false", "true", False, (), "log.json", "page.md")
    code = runner.Loop(config, tmp_path, runner.StopSignals(), lambda _: None).run()
    assert 2 == code


# -- the verdict


def reference(max_iter, budget, k, escalate, passed, elapsed, hashes):  # noqa: PLR0917  the exits' inputs, one by one
    """The specification of the exits in ten lines; None if the sequence ends first."""
    for n in range(1, len(passed) + 1):
        stuck = k and hashes is not None and n >= k and len(set(hashes[n - k : n])) == 1
        tripped = [
            (passed[n - 1], "SUCCESS"), (n >= max_iter, "MAX_ITER"), (budget and elapsed[n - 1] >= budget, "TIMEOUT"),
            (stuck, "NO_PROGRESS"), (escalate and n >= escalate, "ESCALATE"),
        ]  # fmt: skip
        for holds, name in tripped:
            if holds:
                return n, name
    return None


@settings(max_examples=500)
@given(
    max_iter=st.integers(1, 14),
    budget=st.sampled_from([0, 1.5, 4.0]),
    k=st.sampled_from([0, 2, 3, 4]),
    escalate=st.sampled_from([0, 0, 1, 3, 7]),
    steps=st.lists(
        st.tuples(st.sampled_from([False] * 9 + [True]), st.sampled_from([0, 0.5, 1.0]), st.sampled_from("ab")),
        min_size=1,
        max_size=12,
    ),  # mostly failures, for a pass hides every guard
    globs=st.booleans(),
)
def test_any_sequence_ends_as_the_reference_says(*, max_iter, budget, k, escalate, steps, globs):
    """For any verify results, state hashes and times the exit equals that of the ten-line reference."""
    passed = [step[0] for step in steps]
    elapsed = [sum(step[1] for step in steps[: n + 1]) for n in range(len(steps))]
    hashes = [step[2] for step in steps] if globs else None
    guards = runner.Guards(max_iter, budget, k, escalate, 1, 0)
    verdicts = [
        runner.judge(guards, n, passed=passed[n - 1], elapsed_s=elapsed[n - 1], hashes=(hashes or [])[:n])
        for n in range(1, len(steps) + 1)
    ]
    first = next(((n, verdict) for n, verdict in enumerate(verdicts, 1) if verdict), None)
    assert reference(max_iter, budget, k, escalate, passed, elapsed, hashes) == first


# -- the first documented use


def test_pytest_fixed_on_the_second_iteration(folder):
    """For real: pytest as verify, an edit as revise."""
    (folder / "src").mkdir()
    (folder / "src" / "adder.py").write_text("def add(a, b):\n    return a - b\n")
    (folder / "test_adder.py").write_text("from src.adder import add\n\ndef test_add():\n    assert add(2, 3) == 5\n")
    verify = f"{sys.executable} -B -m pytest -q -p no:cacheprovider test_adder.py"
    ended = loop(folder, "--verify", verify, "--revise", "sed -i 's/a - b/a + b/' src/adder.py", "--state", "src/**")
    log = log_of(folder)
    assert (0, [False, True]) == (ended.returncode, [entry["passed"] for entry in log["iterations"]])
    assert "1 failed" in log["iterations"][0]["verify"]["tail"]
