"""The lesson page while loops run: several at once, locked, spoiled, on a full disk."""

import resource
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.harness.loops import SCRIPT, log_of, loop, names, replay, runner, start


def test_loops_at_once_lose_no_lesson(folder):
    """Four concurrent loops on one page: every lesson is there, the header once."""
    loops = [start(folder, "--verify", "false", "--log", f"log-{number}.json") for number in range(4)]
    assert [2, 2, 2, 2] == [process.wait(timeout=60) for process in loops]
    page = (folder / "page.md").read_text()
    assert (20, 1, None) == (page.count("\n- "), page.count("## Origin"), runner.broken_page(page))


def test_loops_at_once_on_one_log_leave_a_whole_one(folder):
    """Four concurrent loops on one log: the last to write wins, nothing is mixed, nothing is left over."""
    loops = [start(folder, "--verify", f"exit {number + 1}") for number in range(4)]
    assert [2, 2, 2, 2] == [process.wait(timeout=60) for process in loops]
    assert 1 == len({entry["verify"]["exit_code"] for entry in log_of(folder)["iterations"]})
    assert (0, ["config.yaml", "log.json", "page.md"]) == (replay(folder).returncode, names(folder))


@pytest.mark.parametrize(
    "spoil",
    ["echo spoiled > page.md", "rm -f page.md; mkfifo page.md", "rm -f page.md; mkdir -p page.md",
     "ln -sf /dev/null page.md", "ln -sf page.md page.md"],
)  # fmt: skip
def test_a_page_that_breaks_meanwhile_does_not_keep_the_loop_from_ending(folder, spoil):
    """The lesson is noted in the log instead; the guard still ends the loop."""
    ended = loop(folder, "--verify", f"{spoil}; false", "--max-iter", "2")
    assert 2 == ended.returncode
    assert all(entry["lesson_error"] for entry in log_of(folder)["iterations"])
    assert 0 == replay(folder).returncode


def test_a_page_that_stays_locked_is_given_up(tmp_path, monkeypatch):
    """Somebody else's lock costs a bounded time and then only the lesson."""
    monkeypatch.setattr(runner, "PAGE_LOCK_S", 0.05)
    runner.append_lesson(tmp_path / "page.md", "first")
    with (tmp_path / "page.md").open() as held:
        runner.fcntl.flock(held, runner.fcntl.LOCK_EX)
        with pytest.raises(OSError, match="temporarily unavailable"):
            runner.append_lesson(tmp_path / "page.md", "second")
    assert (tmp_path / "page.md").read_text().endswith("\n- first\n")


@pytest.mark.parametrize(
    ("ran", "expected"),
    [
        (runner.Ran(3, 1.0, False, "first\nlast words \n\n"), "verify exit 3, CONTINUE: last words"),
        (runner.Ran(-9, 1.0, True, ""), "verify stopped at its time limit, CONTINUE: (no output)"),
        (runner.Ran(1, 1.0, False, "x" * 999), f"verify exit 1, CONTINUE: {'x' * 200}"),
    ],
)
def test_a_lesson_says_what_failed_and_what_it_said_last(ran, expected):
    """One line: time, iteration, how VERIFY ended, what follows, the last line of output, cut to 200 characters."""
    time_of_day, _, rest = runner.lesson_line(7, ran, "CONTINUE").partition("Z iteration 7: ")
    assert (19, expected) == (len(time_of_day), rest)


def test_a_page_that_is_locked_for_a_moment_is_waited_for(tmp_path):
    """The lesson comes when the other has written its own."""
    page = tmp_path / "page.md"
    runner.append_lesson(page, "first")
    with page.open() as held:
        runner.fcntl.flock(held, runner.fcntl.LOCK_EX)
        waiting = threading.Thread(target=runner.append_lesson, args=(page, "second"))
        waiting.start()
        time.sleep(0.2)
        before = page.read_text()
    waiting.join()
    assert (False, True) == ("second" in before, page.read_text().endswith("\n- first\n- second\n"))


@pytest.mark.parametrize("before", ["", runner.PAGE_HEADER])
def test_a_lesson_that_fits_only_in_part_leaves_the_page_as_it_was(tmp_path, before):
    """A disk that fills up in the middle of a line leaves neither half a line nor half a header."""
    page = tmp_path / "page.md"
    page.write_text(before)

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 9, len(before) + 9))

    script = f"import runpy; runpy.run_path({str(SCRIPT)!r})['append_lesson'](__import__('pathlib').Path('page.md'), 'x' * 50)"
    ended = subprocess.run(
        [sys.executable, "-B", "-c", script], cwd=tmp_path, preexec_fn=small_files, capture_output=True, check=False
    )
    assert (1, before) == (ended.returncode, page.read_text())
    assert b"OSError" in ended.stderr


def test_a_page_with_other_line_ends_and_no_last_one_is_appended_to(folder):
    """Line ends of another system, or a page cut before its last one, are no broken front matter."""
    (folder / "page.md").write_bytes(b"---\r\ntitle: x\r\n---\r\n\r\n## Origin\r\n\r\nBy hand.")
    loop(folder, "--verify", "false", "--max-iter", "1")
    assert None is log_of(folder)["iterations"][0]["lesson_error"]
    assert b"\r\nBy hand.\n- " in (folder / "page.md").read_bytes()


def test_a_page_through_a_symbolic_link_is_appended_to(folder):
    """The link stays a link."""
    (folder / "page.md").symlink_to("real.md")
    loop(folder, "--verify", "false", "--max-iter", "2")
    assert (True, 2) == ((folder / "page.md").is_symlink(), (folder / "real.md").read_text().count("\n- "))
