"""The command line as a user types it: what each command does, refuses, prints on one line and exits with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench.cli import main
from bench.cli.options import UsageError
from bench.cli.run_commands import ROOT, planned_workers, pytest_command

COMMANDS = (
    "plan",
    "audit",
    "freeze",
    "verify",
    "schema",
    "run",
    "resume",
    "status",
    "resolve",
    "preflight",
    "serve-local",
    "score",
    "report",
    "power",
    "show",
    "diff",
    "export",
)


def call(capsys, *arguments):
    """Exit code, standard output, standard error of one command in this process."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def one_line(text):
    return text.endswith("\n") and text.count("\n") == 1 and text.startswith("locality: ")


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A planned and audited smoke run. Commands that change a run copy what they need."""
    folder = tmp_path_factory.mktemp("cli") / "smoke"
    assert main(["plan", "--preset", "smoke", "--phase", "p0", "--out", str(folder)]) == 0
    assert main(["audit", "--run", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys, command):
    """Help names the command, says what it does and lists its options."""
    code, out, err = call(capsys, command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: locality {command}")
    assert "--help" in out


def test_bare_locality_is_its_help(capsys):
    """Without arguments every command is listed, in the order of use, and nothing else happens."""
    code, out, _ = call(capsys)
    listed = [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines() if line[2:3].strip()]
    assert (code, tuple(listed)) == (0, COMMANDS)


def test_help_imports_nothing_heavy():
    """``locality --help`` is quick because no command's machinery is imported for it."""
    probe = "import sys; from bench.cli import main; main(['--help']); print(*sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    heavy = {"numpy", "scipy", "pandas", "matplotlib", "httpx", "pydantic", "pytest", "bench.plan", "bench.run"}
    assert heavy & set(done.stderr.split()) == set()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "No such command 'frobnicate'; see locality --help"),
        (["plan", "--bogus"], "No such option: --bogus"),
        (["plan", "stray", "--out", "x"], "unexpected extra argument(s) (stray); see locality plan --help"),
        (["plan"], "where to? --out DIR names a new or empty folder for the plan"),
        (["plan", "--out", "x", "--phase", "p9"], "'p9' is not one of 'p0', 'p1'; see locality plan --help"),
        (["plan", "--out", "x", "--preset", "huge"], "preset: expected one of smoke, pilot, main, hard"),
        (["plan", "--out", "x", "--model", "a b"], "model: expected text without blanks"),
        (["plan", "--out", "x", "--local", "--model", "m"], "--local and --model exclude each other"),
        (["plan", "--out", "x", "--local=nothing.gguf"], "'nothing.gguf' is not a file; write --local or --local=FILE"),
        (["plan", "--out", "x", "--execute"], "--execute has a meaning only with --count-tokens"),
        (["plan", "--out", "x", "--max-http-attempts", "-3"], "'-3' is not a whole number of at least 1"),
        (["plan", "--out", "x", "--count-tokens"], "it needs --execute (or --mock, --local) and --max-http-attempts N"),
        (["plan", "--out", "x", "--count-tokens", "--execute"], "it needs --execute (or --mock, --local) and --max"),
        (["audit"], "Missing option '--run'; see locality audit --help"),
        (["run", "--run", "nowhere", "--mock"], "'nowhere' is no planned run (no protocol.json in it); make one"),
        (["resume", "--run", "nowhere"], "'nowhere' is no planned run"),
        (["status", "--run", "nowhere"], "'nowhere' is no planned run"),
        (["schema", "nothing.json"], "no schema for 'nothing.json': one of preset, protocol.json"),
        (["serve-local", "--port", "99999"], "Invalid value for '--port'"),
        (["serve-local", "--local", "model.gguf"], "unexpected extra argument(s) (model.gguf)"),
        (["preflight", "--out", "x"], "preflight sends two requests: say --execute, or --mock or --local"),
        (["preflight", "--out", "x", "--execute"], "needs --max-http-attempts, --local-token-cap; nothing was sent"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line_and_exit_4(capsys, tmp_path, monkeypatch, arguments, message):
    """Unknown commands, options, values and folders are refused by name, with the remedy, and nothing is made."""
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (4, "")
    assert one_line(err), err
    assert message in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mock", "--execute"], "--mock and --execute exclude each other: name one backend"),
        (["--mock", "--local"], "--mock and --local exclude each other: name one backend"),
        (["--mock=optimistic"], "'optimistic' is not a mode; write --mock or --mock=MODE with oracle, flawed, planted"),
        (["--mock", "flawed"], "unexpected extra argument(s) (flawed)"),
        (["--execute"], "needs --max-generation-calls, --max-http-attempts, --local-token-cap; nothing was sent"),
        (
            ["--execute", "--max-generation-calls", "20"],
            "needs --max-http-attempts, --local-token-cap; nothing was sent",
        ),
        (["--mock", "--max-rpm", "0"], "'0' is not a whole number of at least 1"),
        (["--mock", "-n", "two"], "'two' is not a whole number of at least 0"),
        (["--mock", "--protocol-hash", "ACTUAL_HASH_FROM_FREEZE"], "is not a SHA-256: 64 hex digits"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_run_refuses_before_pytest_starts(capsys, planned, arguments, message):
    """Backends, caps and numbers are checked here; the run directory stays as it was."""
    before = sorted(planned.rglob("*"))
    code, _, err = call(capsys, "run", "--run", planned, *arguments)
    assert code == 4
    assert one_line(err), err
    assert message in err
    assert sorted(planned.rglob("*")) == before


def test_plan_writes_twenty_trials_and_says_what_is_next(capsys, tmp_path):
    """The first command of section 14.2, and its result in numbers."""
    out = tmp_path / "smoke"
    code, text, err = call(capsys, "plan", "--preset", "smoke", "--phase", "p0", "--out", out, "--model", "m-1")
    assert (code, err) == (0, "")
    assert "planned smoke p0 for m-1: 20 trials, 4 blocks, 4 cases, 4 families" in text
    assert text.endswith(f"next: locality audit --run {out}\n")
    assert len((out / "schedule.jsonl").read_text().splitlines()) == 20


def test_plan_does_not_write_into_a_folder_with_something_in_it(capsys, tmp_path):
    """What is there stays untouched: exit 4."""
    (tmp_path / "note").write_text("mine")
    code, _, err = call(capsys, "plan", "--out", tmp_path)
    assert code == 4
    assert one_line(err)
    assert [entry.name for entry in tmp_path.iterdir()] == ["note"]


def test_what_the_system_refuses_is_told_with_what_to_check(capsys, tmp_path):
    """A path through a file: the system's own words, the path, and a remedy, on one line."""
    (tmp_path / "file").write_text("x")
    code, out, err = call(capsys, "plan", "--preset", "smoke", "--phase", "p0", "--out", tmp_path / "file" / "x")
    assert (code, out) == (4, "")
    assert one_line(err)
    assert f"{tmp_path / 'file' / 'x'}: Not a directory; check the path, its permissions and the free space" in err


def test_a_damaged_record_is_not_to_be_thrown_away(capsys, planned, tmp_path):
    """Removing an answer makes it be sent and billed again: the remedy says so."""
    run = shutil.copytree(planned, tmp_path / "run")
    trial = json.loads((run / "schedule.jsonl").read_text().splitlines()[0])["trial_id"]
    (run / "trials" / trial).mkdir(parents=True)
    (run / "trials" / trial / "terminal.json").write_text("garbage")
    code, out, err = call(capsys, "score", "--run", run)
    assert (code, out) == (4, "")
    assert one_line(err)
    assert f"{trial}/terminal.json: " in err
    assert "restore the file from a copy, or move it away" in err


def test_status_of_a_fresh_plan_is_unfinished(capsys, planned):
    """Exit 1 until every planned trial has ended; the JSON form holds the same."""
    code, text, _ = call(capsys, "status", "--run", planned)
    assert code == 1
    assert "0 of 20 trials ended" in text
    assert "nothing was sent yet" in text
    code, text, _ = call(capsys, "status", "--run", planned, "--json")
    assert (code, json.loads(text)["planned"]) == (1, 20)


def test_verify_knows_an_edited_plan(capsys, planned, tmp_path):
    """An untouched plan verifies; one changed byte of gold does not, and the file is named."""
    assert call(capsys, "verify", "--run", planned)[0] == 0
    for file in planned.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    gold = tmp_path / "gold.jsonl"
    gold.write_bytes(gold.read_bytes().replace(b'"value":', b'"value": ', 1))
    code, out, err = call(capsys, "verify", "--run", tmp_path)
    assert code != 0
    assert "gold.jsonl" in out + err


def test_resolve_asks_for_a_decision(capsys, planned):
    """Neither or both of --tokens and --keep is no decision; a trial that is not ambiguous is refused."""
    for decision in ([], ["--keep", "--tokens", "5"]):
        code, _, err = call(capsys, "resolve", "--run", planned, "--trial", "0" * 64, *decision)
        assert (code, "say one of --tokens N" in err) == (4, True)
    code, _, err = call(capsys, "resolve", "--run", planned, "--trial", "0" * 64, "--keep")
    assert code == 4
    assert one_line(err)


def test_schemas_are_json_schemas(capsys):
    """All of them, or one by name."""
    code, text, _ = call(capsys, "schema")
    schemas = json.loads(text)
    assert code == 0
    assert {"protocol.json", "schedule.jsonl", "terminal.json", "usage-ledger.jsonl", "scores.jsonl"} <= set(schemas)
    _, text, _ = call(capsys, "schema", "terminal.json")
    assert json.loads(text) == schemas["terminal.json"]
    assert "ending" in schemas["terminal.json"]["properties"]


def test_the_command_for_pytest_is_complete():
    """Flags that are off are left out, values come after ``=``, the run is absolute, one worker needs no xdist."""
    flags = {"mock": "flawed", "execute": False, "max_rpm": 30, "retry_failed": True, "local": None}
    command = pytest_command(ROOT, Path("/runs/r"), flags, workers=4)
    assert command[1:] == [
        "-m",
        "pytest",
        str(ROOT / "evals"),
        f"--rootdir={ROOT}",
        "--run=/runs/r",
        "-n",
        "4",
        "--mock=flawed",
        "--max-rpm=30",
        "--retry-failed",
    ]
    assert "-n" not in pytest_command(ROOT, Path("/runs/r"), flags, workers=1)


def test_running_needs_a_checkout(tmp_path):
    """The evaluations are no part of an installed package: the message says where they are."""
    with pytest.raises(UsageError, match="need a checkout of the project"):
        pytest_command(tmp_path, tmp_path, {}, workers=1)


def test_requests_in_flight_come_from_the_plan(planned):
    """Four, as the configuration says."""
    assert planned_workers(planned, local=False) == 4


def locality(*arguments, **environment):
    """One command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout, done.stderr


def test_a_mock_run_from_plan_to_report(planned, tmp_path):
    """Section 14.2 to its end: run, a second run that sends nothing, status, score, report; the codes are pytest's."""
    run = tmp_path / "smoke"
    run.mkdir()
    for file in planned.iterdir():
        (run / file.name).write_bytes(file.read_bytes())
    code, out, _ = locality("run", "--run", run, "-n", "0")
    assert code == 0
    assert "nothing was sent: 20 trials not_dispatched" in out
    code, out, err = locality("run", "--run", run, "--mock", "-n", "1", "--max-generation-calls", "12")
    assert code == 6, out + err
    code, out, err = locality("resume", "--run", run, "--mock", "-n", "1")
    assert code == 0, out + err
    assert main(["status", "--run", str(run)]) == 0
    assert main(["score", "--run", str(run)]) == 0
    assert main(["report", "--run", str(run)]) == 0
    assert len((run / "scores.jsonl").read_text().splitlines()) == 20
    assert "synthetic" in (run / "report.md").read_text().lower()


def test_a_live_run_without_a_key_sends_nothing(planned):
    """The caps are given, the key is not: exit 4 before anything is sent, and the message names the variable."""
    caps = ["--max-generation-calls", 1, "--max-http-attempts", 2, "--local-token-cap", 20_000]
    code, out, err = locality("run", "--run", planned, "--execute", "-n", "1", *caps)
    assert code == 4
    assert "OPENAI_API_KEY" in out + err
    assert not (planned / "trials").exists()


def test_preflight_through_the_mock(capsys, tmp_path):
    """One count, one generation; the capabilities say that they are synthetic, for freeze to read."""
    code, out, err = call(capsys, "preflight", "--out", tmp_path / "pf", "--mock", "--model", "m-1")
    assert (code, err) == (0, "")
    assert "asked for m-1, answered by synthetic-mock of m-1" in out
    seen = json.loads((tmp_path / "pf" / "capabilities.json").read_text())
    assert (seen["synthetic_mock"], seen["errors"], seen["http_attempts"]) == (True, [], 2)


def test_counting_stops_at_its_cap_and_goes_on(capsys, tmp_path):
    """``plan --count-tokens`` plans, counts up to the cap (exit 6), and counts only the rest the next time."""
    run = tmp_path / "run"
    count = ["--count-tokens", "--mock", "--max-http-attempts"]
    code, out, err = call(capsys, "plan", "--phase", "p0", "--out", run, *count, "15")
    assert (code, err) == (6, "")
    assert "counted 15 of 20 prompts" in out
    code, out, _ = call(capsys, "plan", "--run", run, *count, "15")
    assert code == 0
    assert "counted 20 of 20 prompts" in out
    assert out.endswith("5 HTTP attempts\n")


def test_freeze_then_run_with_its_hash(capsys, tmp_path, monkeypatch):
    """A confirmatory plan: frozen only after its audit, then nothing real is sent under another hash than printed."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")  # nobody listens there
    preset = {**json.loads((ROOT / "configs" / "main.json").read_text()), "name": "tiny"}
    preset["reading"] = {"depths": [2, 4], "fillers": [0], "seeds_per_cell": 2}
    (tmp_path / "tiny.json").write_text(json.dumps(preset))
    run, capabilities = tmp_path / "tiny", tmp_path / "pf" / "capabilities.json"
    assert call(capsys, "plan", "--preset", tmp_path / "tiny.json", "--out", run)[0] == 0
    assert call(capsys, "preflight", "--preset", tmp_path / "tiny.json", "--out", tmp_path / "pf", "--mock")[0] == 0
    code, _, err = call(capsys, "freeze", "--run", run, "--capabilities", capabilities)
    assert (code, "audit" in err) == (4, True)
    call(capsys, "audit", "--run", run)
    code, out, err = call(capsys, "freeze", "--run", run, "--capabilities", capabilities)
    assert (code, err) == (0, "")
    assert "only --mock may run it" in out
    freeze_hash = out.split()[-1]
    assert json.loads((run / "freeze.json").read_text())["mde_pp"] > 0
    live = ["--execute", "--max-generation-calls", 1, "--max-http-attempts", 2, "--local-token-cap", 99_999]
    code, out, err = locality("run", "--run", run, *live, "--protocol-hash", "0" * 64, OPENAI_API_KEY="sk-nobody")
    assert (code, "--protocol-hash: expected the hash that freeze printed" in out + err) == (4, True)
    code, out, err = locality("run", "--run", run, "--mock", "-n", "1", "--protocol-hash", "0" * 64)
    assert (code, "--protocol-hash: expected the hash that freeze printed" in out + err) == (4, True)
    code, out, err = locality("run", "--run", run, "--mock", "-n", "1", "--protocol-hash", freeze_hash)
    assert code == 0, out + err
    code, out, err = call(capsys, "power", "--run", run, "--families-per-cell", "8", "--wanted-pp", "10")
    assert code == 0, err
    assert "8 families per cell (16): detects" in out
    assert "10 pp: needs" in out
