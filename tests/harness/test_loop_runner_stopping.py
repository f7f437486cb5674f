"""Ended from outside: by signals at any moment, by a full disk, by a read-only folder."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness.loops import (
    SCRIPT,
    alive,
    command,
    config_text,
    log_of,
    names,
    odd_seconds,
    replay,
    runner,
    start,
    wait_for,
)

STOPS = [(signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGQUIT, 131), (signal.SIGTERM, 143)]


def test_killed_in_mid_iteration_the_log_holds_every_finished_one(folder):
    """SIGKILL during the third verify leaves valid JSON with two iterations that replay."""
    seconds = odd_seconds(1)
    verify = f"echo x >> count; test $(wc -l < count) -lt 3 && exit 1; touch third; exec sleep {seconds}"
    process = start(folder, "--verify", verify)
    wait_for(folder / "third")
    process.kill()
    process.wait()
    for number in alive(seconds):
        os.kill(number, signal.SIGKILL)
    log = log_of(folder)
    assert (2, None, 0) == (len(log["iterations"]), log["exit"], replay(folder).returncode)


def test_killed_between_verdict_and_exit_the_log_still_holds(folder):
    """A log whose last verdict ends the loop but that has no exit yet is one of a killed loop, not a forged one."""
    subprocess.run(command("--verify", "false", "--max-iter", "1"), cwd=folder, capture_output=True, check=False)
    (folder / "log.json").write_text(json.dumps(log_of(folder) | {"exit": None}))
    assert 0 == replay(folder).returncode


def test_killed_at_random_moments_the_log_is_always_whole(folder):
    """SIGKILL at twelve moments, start-up, commands, hashing and writing included."""
    dice = random.Random(4)
    arguments = ["--verify", "echo said; false", "--revise", "echo x >> state", "--state", "*", "--max-iter", "500"]
    for _ in range(12):
        process = start(folder, *arguments)
        time.sleep(dice.uniform(0.05, 0.3))
        process.kill()
        process.wait()
        if (folder / "log.json").exists():
            assert [] == runner.replay(log_of(folder))


@pytest.mark.parametrize(("number", "code"), STOPS)
def test_a_stop_signal_ends_the_children_and_writes_the_log(folder, number, code):
    """No child is left, the log is written and replays, and the exit code names the signal."""
    seconds = odd_seconds(number)
    process = start(folder, "--verify", f"touch started; sleep {seconds}")
    wait_for(folder / "started")
    process.send_signal(number)
    assert (code, []) == (process.wait(timeout=30), alive(seconds))
    assert ("STOPPED", code, []) == (
        log_of(folder)["exit"]["reason"], log_of(folder)["exit"]["code"], log_of(folder)["iterations"]
    )  # fmt: skip
    assert 0 == replay(folder).returncode


def test_a_stop_signal_during_revise_keeps_the_iteration(folder):
    """The verdict before it stands, the cut-off revise is noted, no verify follows."""
    seconds = odd_seconds(20)
    process = start(folder, "--verify", "false", "--revise", f"touch started; sleep {seconds}")
    wait_for(folder / "started")
    process.send_signal(signal.SIGINT)
    assert (130, []) == (process.wait(timeout=30), alive(seconds))
    (entry,) = log_of(folder)["iterations"]
    assert ("CONTINUE", True, 0) == (entry["verdict"], entry["revise"]["cut_off"], replay(folder).returncode)


def test_a_stop_signal_while_hashing_starts_no_revise(folder):
    """Nothing is started after the signal, not even to be ended at once: a revise may cost money when it starts."""
    with (folder / "big.bin").open("wb") as stream:
        stream.truncate(1 << 43)
    process = start(folder, "--verify", "touch verified; false", "--revise", "touch revised", "--state", "*.bin")
    wait_for(folder / "verified")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert (130, False) == (process.wait(timeout=30), (folder / "revised").exists())
    assert (1, 0) == (len(log_of(folder)["iterations"]), replay(folder).returncode)


def test_the_first_signal_names_the_exit():
    """Whoever asks twice, and otherwise, gets the code of what came first."""
    stop = runner.StopSignals()
    for number in (signal.SIGINT, signal.SIGTERM):
        stop.note(number, None)
    assert (signal.SIGINT, 2) == (stop.number, stop.count)


def test_a_second_signal_cuts_the_grace_short(folder):
    """Two in quick succession: nobody waits for a grace of ten minutes."""
    (folder / "config.yaml").write_text(config_text(kill_grace_seconds=600))
    seconds = odd_seconds(21)
    process = start(folder, "--verify", f"trap '' INT; touch started; sleep {seconds}")
    wait_for(folder / "started")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    assert ([], True) == ([] if process.wait(timeout=30) in {130, 143} else [process.returncode], alive(seconds) == [])


def test_stopped_at_random_moments_children_end_and_the_log_is_whole(folder):
    """SIGINT and SIGTERM at eight moments after start-up: exit 130 or 143, no child, a log that replays."""
    dice = random.Random(5)
    seconds = odd_seconds(22)
    verify = f"sleep {seconds} & touch started; false"
    (folder / "config.yaml").write_text(config_text(kill_grace_seconds=0.05, max_iter=500))
    for _ in range(8):
        (folder / "started").unlink(missing_ok=True)
        process = start(folder, "--verify", verify, "--revise", "sleep 0.05", "--state", "*")
        wait_for(folder / "started")
        time.sleep(dice.uniform(0, 0.2))
        process.send_signal(dice.choice([signal.SIGINT, signal.SIGTERM]))
        assert process.wait(timeout=30) in {130, 143}
        assert ("STOPPED", []) == (log_of(folder)["exit"]["reason"], alive(seconds))
        assert [] == runner.replay(log_of(folder))


def test_a_hangup_that_was_to_be_ignored_stays_ignored(folder):
    """Under nohup the loop goes on when the terminal closes."""
    words = command("--verify", "touch started; sleep 0.3; exit 3", "--max-iter", "1")
    process = subprocess.Popen(["nohup", *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(folder / "started")
    process.send_signal(signal.SIGHUP)
    assert 2 == process.wait(timeout=30)


def test_an_interrupt_while_the_configuration_is_read_ends_it(folder):
    """A configuration that never comes does not hold the terminal: SIGINT ends the runner, nothing has run."""
    os.mkfifo(folder / "pipe.yaml")
    words = [sys.executable, "-I", str(SCRIPT), "run", "--config", "pipe.yaml", "--verify", "touch ran"]
    process = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE)
    writing = os.open(folder / "pipe.yaml", os.O_WRONLY)  # returns once the runner has opened the other end
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=30)[1]
    os.close(writing)
    assert (130, False, 1) == (process.returncode, (folder / "ran").exists(), said.count(b"\n"))


# -- where the log cannot be written


def small_files(size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_disk_that_fills_up_stops_the_loop_and_keeps_the_last_whole_log(folder):
    """Exit 74 in words that say why; the log of before is valid and replays; no half-written file is left."""
    ended = subprocess.run(
        command("--verify", "echo $(seq 200); false", "--max-iter", "50"),
        cwd=folder, preexec_fn=lambda: small_files(9000), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (74, True) == (ended.returncode, "File too large" in ended.stderr)
    assert (True, 0) == (len(log_of(folder)["iterations"]) >= 2, replay(folder).returncode)
    assert ["config.yaml", "log.json", "page.md"] == names(folder)


def test_a_log_folder_that_cannot_be_written_stops_before_anything_runs(folder):
    """A folder below a file cannot be made: 74, and VERIFY was not started."""
    (folder / "file").touch()
    words = command("--verify", "touch ran", "--log", "file/log.json")
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert (74, 1, False) == (ended.returncode, ended.stderr.count("\n"), (folder / "ran").exists())


def open_to_others() -> bool:
    """Whether another user can reach interpreter and script: not below a private folder such as mktemp makes."""
    paths = [Path(sys.executable), *Path(sys.executable).parents, *SCRIPT.parents]
    return all(path.stat().st_mode & 0o001 for path in paths)


@pytest.mark.skipif(os.geteuid() != 0 or not open_to_others(), reason="needs root, and a checkout others can enter")
def test_a_log_folder_without_permission_stops_before_anything_runs(folder):
    """The same for a read-only folder."""
    (folder / "shut").mkdir(mode=0o755)
    words = [
        "setpriv",
        "--reuid",
        "65534",
        "--clear-groups",
        *command("--verify", "touch ran", "--log", "shut/log.json"),
    ]
    folder.chmod(0o777)
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert (74, False) == (ended.returncode, (folder / "ran").exists())
