"""What is refused before anything runs, where guard values live, and what selftest and --help do."""

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.loops import CONFIG, GUARDS, SCRIPT, config_text, loop, names, runner


def refused(folder: Path, monkeypatch, capfd, *arguments: str) -> str:
    """The one line with which the arguments are refused; nothing has run and nothing was written."""
    before = names(folder)
    monkeypatch.chdir(folder)
    code = runner.main(["run", *arguments])
    line = capfd.readouterr().err
    assert (64, 1, before) == (code, line.count("\n"), names(folder))
    assert line.rstrip("\n").isprintable()
    return line


ROWS = {
    "zero iterations": (config_text(max_iter=0), "guards.max_iter"),
    "a boolean for a number": (config_text(max_iter="true"), "guards.max_iter"),
    "half an iteration": (config_text(max_iter="8.5"), "guards.max_iter"),
    "nothing": (config_text(max_iter=""), "guards.max_iter"),
    "a number in quotes": (config_text(max_iter="'8'"), "guards.max_iter"),
    "a boolean for seconds": (config_text(budget_seconds="true"), "guards.budget_seconds"),
    "seconds in quotes": (config_text(budget_seconds="'5'"), "guards.budget_seconds"),
    "negative budget": (config_text(budget_seconds=-1), "guards.budget_seconds"),
    "infinite budget": (config_text(budget_seconds=".inf"), ".inf"),
    "budget not a number": (config_text(budget_seconds=".nan"), ".nan"),
    "one hash": (config_text(no_progress_k=1), "guards.no_progress_k"),
    "negative hashes": (config_text(no_progress_k=-2), "guards.no_progress_k"),
    "negative escalation": (config_text(escalate_after_iter=-2), "guards.escalate_after_iter"),
    "command without limit": (config_text(command_seconds=0), "guards.command_seconds"),
    "negative grace": (config_text(kill_grace_seconds=-1), "guards.kill_grace_seconds"),
    "a guard twice": (config_text(max_iter="5\n  max_iter: 6"), "line 3: 'max_iter' is written twice"),
    "a guard twice, quoted": (config_text(max_iter='5\n  "max_iter": 6'), "max_iter"),
    "a guard twice, escaped": (config_text(max_iter='5\n  "max\\x5fiter": 6'), "max_iter"),
    "a guard twice, by merge": (config_text(max_iter="5\n  <<: {max_iter: 2}"), "<<"),
    "a guard outside guards": (config_text() + "max_iter: 9\n", "max_iter"),
    "a section twice": (config_text() + "guards: {max_iter: 9}\n", "guards"),
    "two documents": (config_text() + "---\n" + config_text(), "YAML"),
    "octal": (config_text(max_iter="010"), "line 2: '010'"),
    "hexadecimal": (config_text(max_iter="0x10"), "0x10"),
    "underscore": (config_text(max_iter="1_000"), "1_000"),
    "sexagesimal": (config_text(budget_seconds="1:30"), "1:30"),
    "plus sign": (config_text(max_iter="+5"), "+5"),
    "exponent": (config_text(budget_seconds="1.0e+3"), "1.0e+3"),
    "a date": (config_text(max_iter="2026-11-30"), "2026-11-30"),
    "a date that is none": (config_text(max_iter="2020-13-45"), "2020-13-45"),
    "a time that overflows": (config_text(max_iter="0001-01-01T00:00:00+23:59"), "0001-01-01"),
    "five thousand digits": (config_text(max_iter="9" * 5000), "99999"),
    "beyond a float": (config_text(budget_seconds="1" + "0" * 400), "10000"),
    "yes": (config_text(verified="yes"), "yes"),
    "off": (config_text(verified="off"), "off"),
    "maybe": (config_text(verified="maybe"), "revise.verified"),
    "null": (config_text(revise="~"), "~"),
    "a tag": (config_text(max_iter="!!int '5'"), "tags"),
    "a tag that runs code": (config_text(max_iter="!!python/object/apply:os.getcwd []"), "tags"),
    "an anchor": (config_text(max_iter="&five 5"), "line 2: tags, anchors"),
    "a billion laughs": ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "anchors"),
    "a sequence as a key": (config_text() + "? [a, b]\n: c\n", "YAML"),
    "a number as a key": (config_text() + "1: c\n", "unknown key 1"),
    "a key that draws": (config_text() + '"a\\nb\\e[31m": c\n', "unknown key"),
    "one glob, no list": (config_text(state_paths="src"), "state_paths"),
    "a blank glob": (config_text(state_paths="['']"), "state_paths"),
    "a number for a glob": (config_text(state_paths="[3]"), "state_paths"),
    "an octal number in a list": (config_text(state_paths="[010]"), "plain decimal"),
    "many lists, none of them deep": (config_text(state_paths=f"[{'[a], ' * 40}]"), "state_paths: expected"),
    "a glob that is no file name": (config_text(state_paths='["\\ud800"]'), "state_paths"),
    "a log that is no file name": (config_text(log='"\\ud800"'), "run_log.path"),
    "a page that is no file name": (config_text(page='"a\\0b"'), "episodic_memory_page"),
    "a name too long for the page": (config_text(page="x" * 300), "File name too long"),
    "a name too long for the log": (config_text(log="x" * 300), "File name too long"),
    "a list for a command": (config_text(revise="[a]"), "revise.command"),
    "a blank command": (config_text(revise="' '"), "revise.command"),
    "a list for a section": (config_text().replace("{path: log.json}", "[log.json]"), "run_log"),
    "log and page the same": (config_text(log="page.md"), "three files"),
    "log and configuration the same": (config_text(log="./config.yaml"), "three files"),
    "torn": ("guards: [", "YAML"),
    "no mapping": ("just text", "mapping"),
    "a list": ("[]", "mapping"),
    "empty": ("", "mapping"),
    "control character": ("\0", "YAML"),
    "another encoding": (config_text() + "# é", "YAML"),
    "deep flow": ("[" * 60_000, "nested"),
    "deep blocks": ("- " * 30_000, "nested"),
    "huge": (config_text() + "# " + "x" * 100_000, "larger"),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_hostile_configuration_is_refused_by_name(tmp_path, monkeypatch, capfd, row):
    """Exit 64 in one line that names the thing; neither verify nor log nor page was touched."""
    text, named = ROWS[row]
    (tmp_path / "config.yaml").write_bytes(text.encode("latin-1"))
    assert named in refused(tmp_path, monkeypatch, capfd, "--config", "config.yaml", "--verify", "touch ran")


@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_that_is_missing_is_never_made_up(tmp_path, monkeypatch, capfd, guard):
    """Each guard has its value from the configuration or the loop does not start."""
    lines = [line for line in config_text().splitlines() if guard not in line]
    (tmp_path / "config.yaml").write_text("\n".join(lines))
    line = refused(tmp_path, monkeypatch, capfd, "--config", "config.yaml", "--verify", "touch ran")
    assert f"missing key guards.{guard}" in line


@pytest.mark.parametrize("key", ["guards", "state_paths", "run_log", "reflexion", "revise"])
def test_a_section_that_is_missing_is_never_made_up(tmp_path, monkeypatch, capfd, key):
    """The same for everything else that the configuration holds."""
    text = config_text().replace(f"{key}:", f"# {key}:").replace("\n  ", "\n  # " if key == "guards" else "\n  ")
    (tmp_path / "config.yaml").write_text(text)
    assert f"{key}" in refused(tmp_path, monkeypatch, capfd, "--config", "config.yaml", "--verify", "touch ran")


def test_the_smallest_values_are_accepted():
    """One iteration, everything that may be off switched off, no grace."""
    smallest = GUARDS | {"max_iter": 1, "command_seconds": 0.001, "kill_grace_seconds": 0}
    assert smallest == runner.asdict(runner.make_guards(smallest))


def test_a_flag_does_not_make_a_broken_configuration_acceptable(folder, monkeypatch, capfd):
    """The file is checked before a flag replaces a value of it."""
    (folder / "config.yaml").write_text(config_text(max_iter=-1))
    line = refused(folder, monkeypatch, capfd, "--config", "config.yaml", "--verify", "touch ran", "--max-iter", "1")
    assert "guards.max_iter" in line


BAD = [
    [], ["--verify", ""], ["--verify", " "], ["--verify", "true", "--no-such"], ["--verify", "true", "extra"],
    ["--verify", "true", "--revise", ""], ["--verify", "true", "--state", ""], ["--verify", "true", "--log", ""],
    ["--verify", "true", "--no-progress-k", "1"], ["--verify", "true", "--verify", "false"],
    ["--verify", "true", "--max-iter", "3", "--max-iter", "9"], ["--verify", "true", "--verif", "false"],
    *[["--verify", "true", "--max-iter", value] for value in ("", "0", "-1", "x", "1.5", "010", "1_0", "0x3", "٣", "9" * 5000)],
    *[["--verify", "true", "--budget-seconds", value] for value in ("", "-1", "nan", "inf", "-inf", "1e400", "1_0")],
    *[["--verify", "true", "--escalate-after-iter", value] for value in ("-1", "0.5")],
]  # fmt: skip


@pytest.mark.parametrize("arguments", BAD, ids=lambda words: " ".join(words)[:40])
def test_usage_errors_are_64_and_run_nothing(folder, monkeypatch, capfd, arguments):
    """Never argparse's own 2, which would read as MAX_ITER."""
    refused(folder, monkeypatch, capfd, "--config", "config.yaml", *arguments)


@pytest.mark.parametrize(
    "words", [[], ["no-such"], ["replay"], ["selftest", "x"], ["replay", "a", "b"], ["replay", "no-such"]]
)
def test_usage_errors_of_the_other_commands_are_64(words, capfd):
    """One line each."""
    assert (64, 1) == (runner.main(words), capfd.readouterr().err.count("\n"))


def test_refusals_hold_for_the_process_too(folder):
    """The same by command line: the exit code of the process, one line, no traceback."""
    ended = loop(folder, "--verify", "touch ran", "--budget-seconds", "nan")
    assert (64, 1, ["config.yaml"]) == (ended.returncode, ended.stderr.count("\n"), names(folder))


def test_a_configuration_that_is_not_there_or_a_folder_is_refused(tmp_path, monkeypatch, capfd):
    """No file, no loop."""
    refused(tmp_path, monkeypatch, capfd, "--config", "no-such.yaml", "--verify", "touch ran")
    refused(tmp_path, monkeypatch, capfd, "--config", ".", "--verify", "touch ran")


def test_without_a_yaml_reader_a_loop_is_refused(folder):
    """A bare interpreter can run selftest and replay; a loop says what it needs."""
    words = [sys.executable, "-I", "-S", str(SCRIPT), "run", "--config", "config.yaml", "--verify", "touch ran"]
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert (64, 1, ["config.yaml"]) == (ended.returncode, ended.stderr.count("\n"), names(folder))
    assert "PyYAML" in ended.stderr


@pytest.mark.parametrize(
    "page",
    [b"no front matter\n", b"---\ntitle: x\n", b"---\n{broken\n---\n\n## Origin\n", b"---\na: b\n---\n",
     b"---\na: [b\n---\n## Origin\n", b"---\na: b\n---\n## Originally\n", b"---\n# only a comment\n---\n## Origin\n",
     b"---\na: " + b"[" * 5000 + b"\n---\n## Origin\n", b"---\na: \xff\n---\n## Origin\n", b"---\na: b\n## Origin\n"],
)  # fmt: skip
def test_a_page_with_broken_front_matter_is_refused_and_left_alone(folder, monkeypatch, capfd, page):
    """The page keeps its bytes."""
    (folder / "page.md").write_bytes(page)
    line = refused(folder, monkeypatch, capfd, "--config", "config.yaml", "--verify", "touch ran")
    assert (True, page) == ("page.md" in line, (folder / "page.md").read_bytes())


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("---\na: b\n\n# why\nc:\n  - d\n- e\nf_1-x: g\n---\n\n## Origin\n", None),
        (runner.PAGE_HEADER, None),
        ("--- \na: b\n---\n## Origin\n", "no front matter between two '---' lines"),
        ("a: b\n---\n## Origin\n", "no front matter between two '---' lines"),
        ("---\na: b\n## Origin\n", "no front matter between two '---' lines"),
        ("---\na b\n---\n## Origin\n", "front matter line 'a b' is no 'key: value'"),
        ("---\na:b\n---\n## Origin\n", "front matter line 'a:b' is no 'key: value'"),
        ("---\n## Origin\n---\n", "no '## Origin' section"),
        ("---\na: b\n---\n### Origin\n", "no '## Origin' section"),
    ],
)
def test_what_a_lesson_page_is(page, why):
    """Closed front matter of plain keys and a section of that very name; checked without a YAML reader too."""
    assert why == runner.broken_page(page)


def test_a_page_brings_its_folders_along(folder):
    """Folders on the way to it are made on first need."""
    (folder / "config.yaml").write_text(config_text(page="notes/of/page.md", max_iter=1))
    loop(folder, "--verify", "false")
    assert ["page.md"] == names(folder / "notes" / "of")


def test_an_empty_page_is_filled(folder):
    """It is no broken one: it gets front matter and Origin with the first lesson."""
    (folder / "page.md").touch()
    assert 2 == loop(folder, "--verify", "false", "--max-iter", "1").returncode
    assert (folder / "page.md").read_text().startswith(runner.PAGE_HEADER + "- ")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
@pytest.mark.parametrize("name", ["page.md", "log.json"])
def test_a_page_or_log_that_is_no_regular_file_is_refused(folder, monkeypatch, capfd, make, name):
    """A folder, a pipe or a device is never replaced."""
    make(folder / name)
    assert name in refused(folder, monkeypatch, capfd, "--config", "config.yaml", "--verify", "touch ran")


def test_a_device_is_not_replaced_by_a_log(folder, monkeypatch, capfd):
    """`--log /dev/null` run by root must not turn it into a file; tried through a link, for the machine's sake."""
    (folder / "null").symlink_to("/dev/null")
    line = refused(folder, monkeypatch, capfd, "--config", "config.yaml", "--verify", "true", "--log", "null")
    assert (True, True) == ("null" in line, (folder / "null").is_symlink())


# -- where guard values live


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
            words = [word.value for word in node.args if isinstance(word, ast.Constant)]
            if node.func.attr == "add_argument" and any(keyword.arg == "default" for keyword in node.keywords):
                found += [word for word in words if str(word)[2:].replace("-", "_") in guards]
            if node.func.attr in {"get", "setdefault"} and len(node.args) > 1:
                found += [word for word in words if word in guards]
    assert [] == found


def test_the_shipped_configuration_is_accepted_and_holds_every_guard():
    """The file that the documents name loads, key for key."""
    raw = runner.read_yaml(CONFIG)
    runner.check_shape(raw, CONFIG)
    assert runner.make_guards(raw["guards"]).max_iter >= 1


def test_without_config_the_shipped_one_is_used(tmp_path):
    """Log and page of the shipped configuration are relative to the working folder."""
    words = [sys.executable, "-I", str(SCRIPT), "run", "--verify", "false", "--max-iter", "1"]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert (2, ["episodes.md", "loop-runner-run.json"]) == (ended.returncode, names(tmp_path / "harness" / "out"))


# -- selftest and help


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def selftest(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    for name in ("tmp", "cwd"):
        (tmp_path / name).mkdir()
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path / "tmp")}
    words = [sys.executable, "-I", "-S", str(tmp_path / "loop-runner.py"), "selftest"]
    return subprocess.run(words, cwd=tmp_path / "cwd", env=env, capture_output=True, text=True, timeout=60, check=False)


def test_selftest_on_a_bare_interpreter_writes_only_in_its_folder(tmp_path):
    """Exit 0 without third-party packages; the harness folder and the working folder stay as they were."""
    before = snapshot(SCRIPT.parents[1])
    (tmp_path / "loop-runner.py").symlink_to(SCRIPT)
    ended = selftest(tmp_path)
    assert (0, 5) == (ended.returncode, ended.stderr.count("ok  "))
    assert ([], []) == (names(tmp_path / "cwd"), names(tmp_path / "tmp"))
    assert before == snapshot(SCRIPT.parents[1])


@pytest.mark.parametrize(
    ("line", "without"),
    [
        ("if passed:", "if passed and iteration > 50:"),
        ("if iteration >= guards.max_iter:", "if iteration >= guards.max_iter + 1:"),
        ("return guards.budget_seconds > 0 and", "return guards.budget_seconds > 100 and"),
        ("if len(last) == guards.no_progress_k and", "if len(last) == guards.no_progress_k > 100 and"),
        ("if guards.escalate_after_iter and", "if guards.escalate_after_iter > 100 and"),
    ],
)
def test_selftest_finds_a_runner_without_one_of_its_exits(tmp_path, line, without):
    """Take one exit out and the self-test fails: it is no ornament."""
    text = SCRIPT.read_text()
    assert 1 == text.count(line)
    (tmp_path / "loop-runner.py").write_text(text.replace(line, without))
    ended = selftest(tmp_path)
    assert (1, 1) == (ended.returncode, ended.stderr.count("FAIL"))


@pytest.mark.parametrize("verb", [[], ["run"], ["replay"], ["selftest"]])
def test_help_everywhere(verb, capsys):
    """--help exits 0 and says something."""
    with pytest.raises(SystemExit) as ended:
        runner.main([*verb, "--help"])
    assert (0, True) == (ended.value.code, "usage:" in capsys.readouterr().out)


def test_an_interrupted_selftest_says_so(tmp_path):
    """130, not a failed scenario."""
    words = [sys.executable, "-I", str(SCRIPT), "selftest"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert (130, 0) == (process.returncode, said.count(b"FAIL"))
