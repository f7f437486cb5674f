"""The state hash: what counts as progress, and what can lie, vanish or have no end among the state files."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.harness.loops import SCRIPT, config_text, log_of, loop, runner


def state(folder: Path, *patterns: str, seconds: float = 20) -> tuple[str, int]:
    result: tuple[str, int] = runner.state_hash(patterns, folder, runner.Limits(seconds, 0, runner.StopSignals()))
    return result


def test_a_glob_that_matches_nothing_still_counts(folder):
    """No file is a state like any other: it does not change, so it trips NO_PROGRESS."""
    ended = loop(folder, "--verify", "false", "--state", "no-such/**", "--no-progress-k", "3")
    assert (4, 3) == (ended.returncode, len(log_of(folder)["iterations"]))


def test_no_progress_without_globs_is_off_and_the_log_says_so(folder):
    """Without globs the guard cannot trip."""
    ended = loop(folder, "--verify", "false", "--no-progress-k", "2", "--max-iter", "3")
    assert (2, ["no_progress_k is off: no state_paths are given"]) == (ended.returncode, log_of(folder)["notes"])


def test_globs_of_the_configuration_hold_until_a_flag_replaces_them(folder):
    """--state overrides state_paths; without it they are used; no note is written then."""
    (folder / "config.yaml").write_text(config_text(state_paths="['a', 'b']", no_progress_k=2, max_iter=3))
    revise = ["--verify", "false", "--revise", "echo x >> a"]
    assert (2, []) == (loop(folder, *revise).returncode, log_of(folder)["notes"])
    assert 4 == loop(folder, *revise, "--state", "b").returncode


@pytest.mark.parametrize(
    "edit",
    ["rm state.txt", "mv state.txt other.txt", "echo changed > state.txt", "mkdir sub; touch sub/new.txt",
     "rm state.txt; mkdir state.txt", "cp state.txt copy.txt", "chmod 600 state.txt; : > state.txt"],
)  # fmt: skip
def test_deletion_renaming_and_editing_are_progress(tmp_path, edit):
    """Each of these changes the state hash; doing nothing does not."""
    (tmp_path / "state.txt").write_text("first\n")
    first = state(tmp_path, "**")
    assert first == state(tmp_path, "**")
    subprocess.run(["sh", "-c", edit], cwd=tmp_path, check=True)
    assert first[0] != state(tmp_path, "**")[0]


def test_what_the_runner_writes_is_no_progress(folder):
    """A glob that catches the run log and the lesson page does not blind the guard."""
    ended = loop(folder, "--verify", "false", "--state", "**", "--no-progress-k", "2")
    entries = log_of(folder)["iterations"]
    assert (4, 2, 1) == (ended.returncode, len(entries), entries[0]["state_files"])


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**", ["a.py", "d/b.py", "d/e/c.txt", "link.py"]),
        ("**/*.py", ["a.py", "d/b.py", "link.py"]),
        ("d/**", ["d/b.py", "d/e/c.txt"]),
        ("d/**/*", ["d/b.py", "d/e/c.txt"]),
        ("**/e/**/*.txt", ["d/e/c.txt"]),
        ("**/**/**", ["a.py", "d/b.py", "d/e/c.txt", "link.py"]),
        ("*", ["a.py", "link.py"]),
        ("?.py", ["a.py"]),
        ("[!a].py", []),
        (".*", [".hidden.py"]),
        ("*/b.py", ["d/b.py", "to-d/b.py"]),
        ("*/a.py", []),
        ("d//b.py", ["d/b.py"]),
        ("./d/../a.py", ["./d/../a.py"]),
        ("A.PY", []),
        ("a.py/*", []),
    ],
)
def test_what_a_glob_matches(tmp_path, pattern, expected):
    """As in a shell: ** is any number of folders, links to folders are not gone through by it, hidden names need a dot."""
    (tmp_path / "d" / "e").mkdir(parents=True)
    for name in ("a.py", ".hidden.py", "d/b.py", "d/e/c.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link.py").symlink_to("a.py")
    (tmp_path / "to-d").symlink_to("d")
    found = runner.matched(pattern, tmp_path, lambda: None)
    assert expected == sorted(path for path in found if (tmp_path / path).is_file())


def test_an_absolute_glob_is_taken_as_it_is(tmp_path):
    """The files need not lie in the working folder."""
    (tmp_path / "a").write_text("x")
    assert 1 == state(tmp_path / "elsewhere", f"{tmp_path}/*")[1]


def test_each_folder_is_looked_at_once_for_each_part_of_a_glob(tmp_path):
    """Four ** in a tree of six levels are no more work than four times six folders, and can be ended at each."""
    (tmp_path / "a/b/c/d/e/f").mkdir(parents=True)
    looks: list[None] = []
    assert set() == runner.matched("**/**/**/**/x*", tmp_path, lambda: looks.append(None))
    assert 7 <= len(looks) <= 7 * 5

    def no_more() -> None:
        raise runner.UnfinishedError

    with pytest.raises(runner.UnfinishedError):
        runner.matched("x", tmp_path, no_more)


def test_links_in_a_circle_have_an_end(tmp_path):
    """Two links to their own folder: 2^40 paths for whoever follows them."""
    (tmp_path / "file").write_text("x")
    for name in ("one", "two"):
        (tmp_path / name).symlink_to(".")
    (tmp_path / "itself").symlink_to("itself")
    assert 1 == state(tmp_path, "**/file")[1]
    assert len(state(tmp_path, "**")[0]) == 64


def test_a_very_deep_tree_is_walked(tmp_path):
    """Deeper than the interpreter's own stack; removed at once, for pytest's own clean-up has that stack too."""
    subprocess.run(["mkdir", "-p", "/".join(["d"] * 1100)], cwd=tmp_path, check=True)
    try:
        assert 0 == state(tmp_path, "**")[1]
    finally:
        subprocess.run(["rm", "-rf", "d"], cwd=tmp_path, check=True)


def test_thousands_of_files(tmp_path):
    """All count, and the order in which the disk lists them does not."""
    for number in range(3000):
        (tmp_path / f"{number}.txt").write_text(str(number))
    assert 3000 == state(tmp_path, "*.txt")[1]
    assert state(tmp_path, "*.txt", "1*.txt") == state(tmp_path, "1*.txt", "*.txt")


def test_names_that_are_no_text_are_hashed(tmp_path):
    """A file name in no encoding is a name like any other."""
    with open(os.fsencode(tmp_path) + b"/\xff\n.txt", "w") as stream:  # noqa: PTH123  a name that pathlib cannot write
        stream.write("x")
    assert 1 == state(tmp_path, "*.txt")[1]


def test_fifos_devices_sockets_and_folders_do_not_block(tmp_path):
    """Only regular files are read."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    (tmp_path / "nowhere").symlink_to("no-such")
    assert 0 == state(tmp_path, "*")[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may read less")
def test_what_cannot_be_read_does_not_end_the_loop(folder):
    """A file without permission, and a folder that may be listed but not entered, count as being there."""
    (folder / "secret.txt").touch(mode=0)
    (folder / "shut").mkdir()
    (folder / "shut" / "inside.txt").touch()
    (folder / "shut").chmod(0o744)
    folder.chmod(0o777)
    script = f"""
import os, runpy, sys
from pathlib import Path
runner = runpy.run_path({str(SCRIPT)!r})
os.setuid(65534)
print(runner["state_hash"](("**",), Path("."), runner["Limits"](20, 0, runner["StopSignals"]()))[1])
"""
    ended = subprocess.run(
        [sys.executable, "-B", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ("3\n", "") == (ended.stdout, ended.stderr)


def test_a_file_that_has_no_end_is_hashed_up_to_a_limit(folder):
    """A sparse 8 TB file: the budget holds while hashing too."""
    with (folder / "big.bin").open("wb") as stream:
        stream.truncate(1 << 43)
    ended = loop(folder, "--verify", "false", "--state", "*.bin", "--budget-seconds", "0.5")
    assert (3, "unfinished") == (ended.returncode, log_of(folder)["iterations"][0]["state_hash"])


def test_a_state_too_large_to_hash_is_no_progress(folder):
    """What cannot be shown to have changed has not: the guard fails closed."""
    (folder / "config.yaml").write_text(config_text(command_seconds=0.2, no_progress_k=2))
    with (folder / "big.bin").open("wb") as stream:
        stream.truncate(1 << 43)
    assert 4 == loop(folder, "--verify", "false", "--state", "*.bin").returncode


def test_files_that_vanish_or_become_folders_while_hashed(tmp_path):
    """Hashing a folder whose files come, go and turn into folders raises nothing and ends."""
    done = threading.Event()

    def churn() -> None:
        while not done.is_set():
            for number in range(40):
                (tmp_path / f"{number}.txt").write_text("x")
            for number in range(40):
                (tmp_path / f"{number}.txt").unlink()
            for number in range(40):
                (tmp_path / f"{number}.txt").mkdir()
            for number in range(40):
                (tmp_path / f"{number}.txt").rmdir()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        digests = [state(tmp_path, "**/*.txt") for _ in range(150)]
    finally:
        done.set()
        thread.join()
    assert all(len(digest) == 64 and 0 <= files <= 40 for digest, files in digests)
