"""The loop runner by command line: every exit, every way a command can misbehave, every refused configuration."""

import ast
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

SCRIPT = Path(__file__).parents[2] / "harness" / "scripts" / "loop-runner.py"
CONFIG = SCRIPT.parents[1] / "loop-runner.config.yaml"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("loop_runner", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["loop_runner"] = module
    spec.loader.exec_module(module)
    return module


runner = load()

GUARDS = {
    "max_iter": 5,
    "budget_seconds": 0,
    "no_progress_k": 0,
    "escalate_after_iter": 0,
    "command_seconds": 20,
    "kill_grace_seconds": 0.3,
}


def config_text(**changes: object) -> str:
    guards = GUARDS | {key: value for key, value in changes.items() if key in GUARDS}
    lines = ["guards:", *(f"  {key}: {value}" for key, value in guards.items())]
    lines += [f"state_paths: {changes.get('state_paths', '[]')}", "run_log: {path: log.json}"]
    lines += ["reflexion: {episodic_memory_page: page.md}", 'revise: {command: "true", verified: false}']
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(config_text())
    return tmp_path


def loop(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(SCRIPT), "run", "--config", "config.yaml", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def log_of(folder: Path) -> dict:
    return json.loads((folder / "log.json").read_text())


def replayed(folder: Path) -> int:
    return subprocess.run([sys.executable, "-I", str(SCRIPT), "replay", "log.json"], cwd=folder, check=False).returncode


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
    assert (ended.returncode, log["exit"]["reason"], log["exit"]["code"]) == (code, reason, code)
    assert iterations is None or len(log["iterations"]) == iterations
    failed = sum(not entry["passed"] for entry in log["iterations"])
    assert (folder / "page.md").read_text().count("\n- ") == failed
    assert replayed(folder) == 0


def test_a_model_that_claims_success_changes_nothing(folder):
    """Whatever REVISE prints or returns, only VERIFY's exit code counts."""
    ended = loop(folder, "--verify", "false", "--revise", "echo SUCCESS, all tests pass; exit 0", "--max-iter", "2")
    assert ended.returncode == 2


def test_a_failing_revise_is_logged_and_the_loop_goes_on(folder):
    """A revise that fails ends nothing."""
    ended = loop(folder, "--verify", "false", "--revise", "exit 9", "--max-iter", "2")
    assert (ended.returncode, log_of(folder)["iterations"][0]["revise"]["exit_code"]) == (2, 9)


def test_revise_reads_what_verify_said(folder):
    """CRITIQUE gets VERIFY's last output on standard input."""
    loop(folder, "--verify", "echo broken here; false", "--revise", "cat > said", "--max-iter", "2")
    assert (folder / "said").read_text() == "broken here\n"


def alive(marker: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if marker.encode() in words:
                found.append(int(entry.name))
    return found


def test_a_hanging_verify_with_children_is_a_timeout(folder):
    """A verify that never returns and ignores SIGINT, children included, is ended at the budget."""
    seconds = f"600.{os.getpid()}1"
    verify = f"trap '' INT; sleep {seconds} & sleep {seconds}"
    ended = loop(folder, "--verify", verify, "--budget-seconds", "0.5")
    assert (ended.returncode, alive(seconds)) == (3, [])


def test_a_command_over_its_own_limit_is_a_failed_verify(folder):
    """command_seconds holds without any budget, and a cut-off verify counts as failed, not as TIMEOUT."""
    (folder / "config.yaml").write_text(config_text(command_seconds=0.3, max_iter=2))
    ended = loop(folder, "--verify", "sleep 600")
    assert (ended.returncode, [e["verify"]["cut_off"] for e in log_of(folder)["iterations"]]) == (2, [True, True])


def test_a_verify_that_turns_its_kill_into_exit_zero_has_not_passed(folder):
    """Ended at its limit, a verify that then exits 0 is still a failed one."""
    (folder / "config.yaml").write_text(config_text(command_seconds=0.3, max_iter=1))
    ended = loop(folder, "--verify", "trap 'exit 0' INT; sleep 600 & wait")
    assert ended.returncode == 2


def test_children_left_behind_are_ended(folder):
    """A revise that leaves a child in the background leaves none when the next verify starts."""
    seconds = f"600.{os.getpid()}2"
    loop(folder, "--verify", "false", "--revise", f"sleep {seconds} &", "--max-iter", "2")
    assert alive(seconds) == []


def test_megabytes_of_output_neither_block_nor_fill_the_log(folder):
    """A revise that writes 20 MB ends, and the log keeps the last few kilobytes."""
    loop(folder, "--verify", "false", "--revise", "head -c 20000000 /dev/zero | tr '\\0' x", "--max-iter", "2")
    assert log_of(folder)["iterations"][0]["revise"]["exit_code"] == 0
    assert (folder / "log.json").stat().st_size < 60_000


def test_a_verify_killed_by_a_signal_has_failed(folder):
    """A negative exit code is a failure, and the log says which signal."""
    ended = loop(folder, "--verify", "kill -SEGV $$", "--max-iter", "1")
    assert (ended.returncode, log_of(folder)["iterations"][0]["verify"]["exit_code"]) == (2, -signal.SIGSEGV)


def test_a_glob_that_matches_nothing_still_counts(folder):
    """No file is a state like any other: it does not change, so it trips NO_PROGRESS."""
    ended = loop(folder, "--verify", "false", "--state", "no-such/**", "--no-progress-k", "3")
    assert (ended.returncode, len(log_of(folder)["iterations"])) == (4, 3)


def test_no_progress_without_globs_is_off_and_the_log_says_so(folder):
    """Without globs the guard cannot trip."""
    ended = loop(folder, "--verify", "false", "--no-progress-k", "2", "--max-iter", "3")
    assert (ended.returncode, log_of(folder)["notes"]) == (2, ["no_progress_k is off: no state_paths are given"])


@pytest.mark.parametrize("edit", ["rm state.txt", "mv state.txt other.txt", "echo changed > state.txt"])
def test_deletion_renaming_and_editing_are_progress(folder, edit):
    """Each of the three changes the state hash."""
    (folder / "state.txt").write_text("first\n")
    loop(folder, "--verify", "false", "--state", "*.txt", "--revise", edit, "--max-iter", "2")
    first, second = (entry["state_hash"] for entry in log_of(folder)["iterations"])
    assert first != second


def test_a_fifo_among_the_state_files_does_not_block(folder):
    """Only regular files are read."""
    os.mkfifo(folder / "pipe.txt")
    ended = loop(folder, "--verify", "false", "--state", "*.txt", "--no-progress-k", "2")
    assert (ended.returncode, log_of(folder)["iterations"][0]["state_files"]) == (4, 0)


def test_files_that_vanish_while_hashed_count_as_not_there(tmp_path):
    """Hashing a folder whose files come and go raises nothing and ends."""
    done = threading.Event()

    def churn() -> None:
        while not done.is_set():
            for number in range(40):
                (tmp_path / f"{number}.txt").write_text("x")
            for number in range(40):
                (tmp_path / f"{number}.txt").unlink()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        digests = [runner.state_hash(["*.txt"], tmp_path) for _ in range(200)]
    finally:
        done.set()
        thread.join()
    assert all(len(digest) == 64 and 0 <= files <= 40 for digest, files in digests)


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", str(SCRIPT), "run", "--config", "config.yaml", *arguments], cwd=folder
    )


def wait_for(path: Path) -> None:
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.02)


def test_killed_in_mid_iteration_the_log_holds_every_finished_one(folder):
    """SIGKILL during the third verify leaves valid JSON with two iterations that replay."""
    verify = "echo x >> count; test $(wc -l < count) -lt 3 && exit 1; touch third; sleep 5"
    process = start(folder, "--verify", verify)
    wait_for(folder / "third")
    process.kill()
    process.wait()
    log = log_of(folder)
    assert (len(log["iterations"]), log["exit"], replayed(folder)) == (2, None, 0)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_signal_ends_the_children_and_writes_the_log(folder, number, code):
    """After SIGINT or SIGTERM no child is left, the log is written and the exit code names the signal."""
    seconds = f"600.{os.getpid()}{number:d}"
    process = start(folder, "--verify", f"touch started; sleep {seconds}")
    wait_for(folder / "started")
    process.send_signal(number)
    ended = process.wait(timeout=30)
    assert (ended, log_of(folder)["exit"]["reason"], alive(seconds)) == (code, "STOPPED", [])


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
    with runner.StopSignals() as stop:
        code = runner.Loop(config, tmp_path, stop, lambda _: None).run()
    assert code == 2


# -- refused before anything runs


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (config_text(max_iter=0), "guards.max_iter"),
        (config_text(max_iter="true"), "guards.max_iter"),
        (config_text(max_iter="8.5"), "guards.max_iter"),
        (config_text(budget_seconds=-1), "guards.budget_seconds"),
        (config_text(budget_seconds=".inf"), "guards.budget_seconds"),
        (config_text(budget_seconds=".nan"), "guards.budget_seconds"),
        (config_text(no_progress_k=1), "guards.no_progress_k"),
        (config_text(escalate_after_iter=-2), "guards.escalate_after_iter"),
        (config_text(command_seconds=0), "guards.command_seconds"),
        (config_text(kill_grace_seconds=-1), "guards.kill_grace_seconds"),
        (config_text().replace("  max_iter: 5\n", ""), "guards.max_iter"),
        (config_text().replace("  max_iter: 5\n", "  max_iter: 5\n  max_iter: 6\n"), "max_iter"),
        (config_text() + "max_iter: 9\n", "max_iter"),
        (config_text() + "guards: {max_iter: 9}\n", "guards"),
        (config_text(max_iter="!!int '5'"), "tags"),
        (config_text(max_iter="!!python/object/apply:os.getcwd []"), "tags"),
        (config_text(max_iter="&five 5"), "anchors"),
        (config_text(state_paths="src"), "state_paths"),
        (config_text().replace("verified: false", "verified: maybe"), "revise.verified"),
        ("guards: [", "YAML"),
        ("just text", "mapping"),
        ("", "mapping"),
        ("\0", "YAML"),
    ],
)
def test_a_hostile_configuration_is_refused_by_name(folder, text, named):
    """Exit 64 in one line that names the thing; neither verify nor log nor page was touched."""
    (folder / "config.yaml").write_text(text)
    ended = loop(folder, "--verify", "touch ran")
    assert (ended.returncode, ended.stderr.count("\n"), names(folder)) == (64, 1, ["config.yaml"])
    assert named in ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [[], ["--verify", ""], ["--verify", "true", "--max-iter", "0"], ["--verify", "true", "--max-iter", "x"],
     ["--verify", "true", "--no-such"], ["--verify", "true", "--no-progress-k", "1"], ["--verify", "true", "extra"]],
)  # fmt: skip
def test_usage_errors_are_64_and_run_nothing(folder, arguments):
    """Never argparse's own 2, which would read as MAX_ITER."""
    assert (loop(folder, *arguments).returncode, names(folder)) == (64, ["config.yaml"])


def test_a_missing_configuration_is_refused(tmp_path):
    """No file, no loop."""
    assert loop(tmp_path, "--verify", "true").returncode == 64


@pytest.mark.parametrize(
    "page", ["no front matter\n", "---\ntitle: x\n", "---\n{broken\n---\n\n## Origin\n", "---\na: b\n---\n"]
)
def test_a_page_with_broken_front_matter_is_refused_and_left_alone(folder, page):
    """The page keeps its bytes."""
    (folder / "page.md").write_text(page)
    ended = loop(folder, "--verify", "touch ran")
    assert (ended.returncode, (folder / "page.md").read_text(), (folder / "ran").exists()) == (64, page, False)


def test_a_page_that_breaks_meanwhile_does_not_keep_the_loop_from_ending(folder):
    """The lesson is noted in the log instead; the guard still ends the loop."""
    ended = loop(folder, "--verify", "echo spoiled > page.md; false", "--max-iter", "2")
    assert (ended.returncode, (folder / "page.md").read_text()) == (2, "spoiled\n")
    assert "front matter" in log_of(folder)["iterations"][0]["lesson_error"]


def test_two_loops_at_once_lose_no_lesson(folder):
    """Four concurrent loops on one page: every lesson is there, the header once."""
    script = ["--verify", "false", "--max-iter", "5"]
    loops = [start(folder, *script, "--log", f"log-{number}.json") for number in range(4)]
    assert [process.wait(timeout=60) for process in loops] == [2, 2, 2, 2]
    page = (folder / "page.md").read_text()
    assert (page.count("\n- "), page.count("## Origin"), runner.broken_page(page)) == (20, 1, None)


# -- the verdict, the guards' home, replay, selftest


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


@given(
    max_iter=st.integers(1, 8),
    budget=st.sampled_from([0, 1.5, 5.0]),
    k=st.sampled_from([0, 2, 3, 4]),
    escalate=st.integers(0, 6),
    steps=st.lists(st.tuples(st.booleans(), st.floats(0, 2), st.sampled_from("ab")), min_size=1, max_size=10),
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
    assert first == reference(max_iter, budget, k, escalate, passed, elapsed, hashes)


def test_no_guard_has_a_default_in_the_script():
    """Guard values live in the configuration alone: no parameter, field, flag or .get() of the script supplies one."""
    guards = set(runner.SHAPE["guards"])
    tree = ast.parse(SCRIPT.read_text())
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            arguments = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            arguments += [a for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
            found += [argument.arg for argument in arguments if argument.arg in guards]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found += [node.target.id] if node.target.id in guards else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "add_argument" and any(keyword.arg == "default" for keyword in node.keywords):
                found += [
                    a.value
                    for a in node.args
                    if isinstance(a, ast.Constant) and str(a.value)[2:].replace("-", "_") in guards
                ]
            if (
                node.func.attr in {"get", "setdefault"}
                and len(node.args) > 1
                and isinstance(node.args[0], ast.Constant)
            ):
                found += [node.args[0].value] if node.args[0].value in guards else []
    assert found == []


def test_the_shipped_configuration_is_accepted_and_holds_every_guard():
    """The file that the documents name loads, key for key."""
    raw = runner.read_yaml(CONFIG)
    runner.check_shape(raw, CONFIG)
    assert runner.make_guards(raw["guards"]).max_iter >= 1


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("iterations", 0, "verdict"), "SUCCESS"),
        (("iterations", 1, "verify", "exit_code"), 0),
        (("iterations", 1, "passed"), True),
        (("exit", "reason"), "ESCALATE"),
        (("exit", "code"), 0),
        (("config", "guards", "max_iter"), 7),
    ],
)
def test_replay_finds_a_log_that_was_changed(folder, path, value):
    """Change one recorded fact and the rest no longer follows from it."""
    loop(folder, "--verify", "false", "--max-iter", "2")
    log = log_of(folder)
    *where, last = path
    target = log
    for key in where:
        target = target[key]
    target[last] = value
    (folder / "log.json").write_text(json.dumps(log))
    assert replayed(folder) == 1


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"config": 3}', "\x00"])
def test_replay_of_something_else_is_refused(folder, content):
    """Not a run log: 64, one line."""
    (folder / "log.json").write_text(content)
    assert replayed(folder) == 64


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in root.rglob("*")
        if path.is_file() and not {"__pycache__", ".git", ".venv", ".hypothesis"} & set(path.parts)
    }


def test_selftest_on_a_bare_interpreter_writes_only_in_its_folder(tmp_path):
    """Exit 0 without third-party packages; the harness folder and the working folder stay as they were."""
    before = snapshot(SCRIPT.parents[1])
    command = [sys.executable, "-I", "-S", str(SCRIPT), "selftest"]
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    (tmp_path / "cwd").mkdir()
    ended = subprocess.run(command, cwd=tmp_path / "cwd", env=env, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("ok  ")) == (0, 5)
    assert (names(tmp_path / "cwd"), names(tmp_path / "tmp")) == ([], [])
    assert snapshot(SCRIPT.parents[1]) == before


@pytest.mark.parametrize("verb", [[], ["run"], ["replay"], ["selftest"]])
def test_help_everywhere(verb):
    """--help exits 0 and says something."""
    ended = subprocess.run(
        [sys.executable, "-I", str(SCRIPT), *verb, "--help"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0
    assert "usage:" in ended.stdout


def test_pytest_fixed_on_the_second_iteration(folder):
    """The first documented use, for real: pytest as verify, an edit as revise."""
    (folder / "src").mkdir()
    (folder / "src" / "adder.py").write_text("def add(a, b):\n    return a - b\n")
    (folder / "test_adder.py").write_text("from src.adder import add\n\ndef test_add():\n    assert add(2, 3) == 5\n")
    verify = f"{sys.executable} -B -m pytest -q -p no:cacheprovider test_adder.py"
    ended = loop(folder, "--verify", verify, "--revise", "sed -i 's/a - b/a + b/' src/adder.py", "--state", "src/**")
    log = log_of(folder)
    assert (ended.returncode, [entry["passed"] for entry in log["iterations"]]) == (0, [False, True])
    assert "1 failed" in log["iterations"][0]["verify"]["tail"]
