"""Replay: a log that was changed, or is none, is found out and never believed."""

import json
import os
import subprocess
import sys

import pytest

from tests.harness.loops import SCRIPT, log_of, loop, replay, runner


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> dict[str, str]:
    """One true log for each way to end."""
    from tests.harness.loops import config_text

    found = {}
    for name, arguments in {
        "MAX_ITER": ["--verify", "false", "--max-iter", "2"],
        "SUCCESS": ["--verify", "test -f done", "--revise", "touch done"],
        "TIMEOUT": ["--verify", "false", "--revise", "sleep 9", "--budget-seconds", "0.3"],
        "NO_PROGRESS": ["--verify", "false", "--no-progress-k", "2", "--state", "*.yaml"],
    }.items():
        folder = tmp_path_factory.mktemp(name)
        (folder / "config.yaml").write_text(config_text())
        loop(folder, *arguments)
        found[name] = (folder / "log.json").read_text()
    return found


def changed(text: str, path: tuple[object, ...], value: object) -> dict:
    log = json.loads(text)
    *where, last = path
    target = log
    for key in where:
        target = target[key]
    target[last] = value
    return log


@pytest.mark.parametrize("name", ["MAX_ITER", "SUCCESS", "TIMEOUT", "NO_PROGRESS"])
def test_a_true_log_holds(logs, name):
    """Nothing differs, and the report names the exit."""
    assert [] == runner.replay(json.loads(logs[name]))


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("MAX_ITER", ("iterations", 0, "verdict"), "SUCCESS"),
        ("MAX_ITER", ("iterations", 1, "verdict"), "CONTINUE"),
        ("MAX_ITER", ("iterations", 1, "verify", "exit_code"), 0),
        ("MAX_ITER", ("iterations", 1, "passed"), True),
        ("MAX_ITER", ("iterations", 1, "iteration"), 3),
        ("MAX_ITER", ("iterations", 0, "guards", "max_iter"), 1),
        ("MAX_ITER", ("iterations", 1, "elapsed_s"), 0),
        ("MAX_ITER", ("iterations", 0, "state_hash"), "0" * 64),
        ("MAX_ITER", ("exit", "reason"), "ESCALATE"),
        ("MAX_ITER", ("exit", "reason"), "STOPPED"),
        ("MAX_ITER", ("exit", "reason"), "a\x1b[31m\nb\ud800"),
        ("MAX_ITER", ("exit", "code"), 0),
        ("MAX_ITER", ("exit", "elapsed_s"), 0),
        ("MAX_ITER", ("config", "guards", "max_iter"), 7),
        ("MAX_ITER", ("iterations",), []),
        ("SUCCESS", ("iterations", 1, "verify", "cut_off"), True),
        ("SUCCESS", ("iterations", 0, "verify", "exit_code"), 0),
        ("SUCCESS", ("exit", "code"), 2),
        ("TIMEOUT", ("exit", "elapsed_s"), 0.1),
        ("TIMEOUT", ("exit", "code"), 0),
        ("TIMEOUT", ("exit", "reason"), "SUCCESS"),
        ("TIMEOUT", ("config", "guards", "budget_seconds"), 0),
        ("NO_PROGRESS", ("iterations", 0, "state_hash"), "0" * 64),
        ("NO_PROGRESS", ("config", "state_paths"), []),
    ],
)
def test_a_log_that_was_changed_is_found_out(logs, name, path, value):
    """Change one recorded fact and the rest no longer follows from it."""
    assert [] != runner.replay(changed(logs[name], path, value))


@pytest.mark.parametrize(
    ("reason", "code", "holds"),
    [("STOPPED", 130, True), ("STOPPED", 143, True), ("STOPPED", 0, False), ("STOPPED", 2, False)],
)
def test_a_stopped_log_names_a_signal(logs, reason, code, holds):
    """A loop that was stopped cannot have left with an exit of another kind."""
    log = json.loads(logs["MAX_ITER"])
    log["iterations"].pop()
    log["exit"].update(reason=reason, code=code)
    assert holds is (runner.replay(log) == [])


def test_a_stop_signal_may_come_after_the_budget(logs):
    """Both were true: the signal, which is looked at first, names the exit."""
    log = json.loads(logs["TIMEOUT"])
    log["exit"].update(reason="STOPPED", code=130)
    assert [] == runner.replay(log)


def test_a_clock_may_stand_still_but_not_run_backwards(logs):
    """Two records at one time hold: a coarse clock writes them."""
    log = json.loads(logs["MAX_ITER"])
    for record in (*log["iterations"], log["exit"]):
        record["elapsed_s"] = 1.0
    assert [] == runner.replay(log)


def test_a_log_that_goes_on_after_its_end_is_found_out(logs):
    """No iteration can follow the one that ended the loop."""
    log = json.loads(logs["SUCCESS"])
    first, second = log["iterations"]
    log["iterations"] += [first | {"iteration": number, "elapsed_s": second["elapsed_s"]} for number in (3, 4)]
    expected = [f"iteration {number} stands after the loop had to end with SUCCESS" for number in (3, 4)]
    assert expected == runner.replay(log)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), 2),
        (("config", "guards", "max_iter"), 0),
        (("config", "guards", "budget_seconds"), 10**400),
        (("config", "guards"), {}),
        (("config", "state_paths"), 3),
        (("iterations",), 5),
        (("iterations", 0), None),
        (("iterations", 0, "verify"), None),
        (("iterations", 0, "elapsed_s"), "x"),
        (("iterations", 0, "elapsed_s"), -5),
        (("iterations", 0, "elapsed_s"), float("nan")),
        (("iterations", 0, "state_hash"), ["x"]),
        (("iterations", 0, "state_hash"), None),
        (("exit",), []),
        (("exit", "elapsed_s"), None),
    ],
)
def test_a_log_of_another_shape_is_refused(folder, capfd, logs, path, value):
    """64 in one line: it is no run log."""
    (folder / "log.json").write_text(json.dumps(changed(logs["NO_PROGRESS"], path, value)))
    assert 64 == runner.main(["replay", str(folder / "log.json")])
    assert "not a run log" in capfd.readouterr().err


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"config": 3}', "\x00", "[" * 100_000, "\ud800"])
def test_something_else_is_refused(folder, capfd, content):
    """Not a run log: 64, one line."""
    (folder / "log.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    assert (64, 1) == (runner.main(["replay", str(folder / "log.json")]), capfd.readouterr().err.count("\n"))


def test_by_command_line_a_report_is_one_line_per_fault_whatever_the_log_says(folder, logs):
    """1, and what a forged log wants to draw on the terminal is shown, not done."""
    log = changed(logs["MAX_ITER"], ("exit", "reason"), "a\x1b[31m\nb\ud800é")
    (folder / "log.json").write_text(json.dumps(log))
    ended = replay(folder)
    assert (1, "", 1) == (ended.returncode, ended.stderr, ended.stdout.count("\n"))
    assert "\x1b" not in ended.stdout


def test_by_command_line_a_true_log_is_summed_up(folder):
    """0, the number of iterations and the exit."""
    loop(folder, "--verify", "false", "--max-iter", "2")
    ended = replay(folder)
    assert (0, "holds: 2 iterations, MAX_ITER\n") == (ended.returncode, ended.stdout)
    log = log_of(folder)
    log["exit"] = None
    (folder / "log.json").write_text(json.dumps(log))
    assert "holds: 2 iterations, no exit: killed, or its log could not be written\n" == replay(folder).stdout


def test_a_report_that_cannot_be_written_is_no_pass(folder):
    """Standard output is full: 74, neither 0 nor a traceback."""
    loop(folder, "--verify", "false", "--max-iter", "1")
    with open(os.devnull.replace("null", "full"), "w") as full:  # noqa: PTH123  a device
        words = [sys.executable, "-I", str(SCRIPT), "replay", "log.json"]
        ended = subprocess.run(words, cwd=folder, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (74, False) == (ended.returncode, b"Traceback" in ended.stderr)
