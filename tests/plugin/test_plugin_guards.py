"""What must not run beside paid requests, and what cannot be planned: one line each, exit 4, nothing sent."""

import fcntl
import json
import os

from tests.plugin.boxes import Box

SMOKE_P0 = ("evals", "-m", "smoke and p0")
EMPTY = "\n"


def refused(box: Box, *arguments: str) -> str:
    """The one line of a refusal."""
    session = box.pytest(*arguments)
    lines = [line for line in session.text.splitlines() if line.startswith("ERROR: ")]
    assert (4, 1) == (session.code, len(lines)), session.text
    return lines[0]


def test_refusals_before_anything_is_planned(box: Box) -> None:
    """Options that exclude each other, values in the wrong place, missing caps, plugins that repeat items."""
    (box.root / "rerunfailures.py").write_text(EMPTY)
    cases = {
        ("-p", "rerunfailures"): "pytest-rerunfailures can run an item twice",
        ("-n2", "--dist=each"): "--dist each would send every trial once per worker",
        ("-n", "-3"): "-n: expected 0 or a number of workers, got -3",
        ("--mock", "--local"): "--mock and --local exclude each other",
        ("--mock=wrong",): "'wrong' is not a mode (oracle, flawed, planted)",
        ("--local=missing.gguf",): "there is no model file 'missing.gguf'",
        ("--execute", "--max-http-attempts=3"): "needs --max-generation-calls, --local-token-cap",
        ("--preset=pilot",): "two presets at once (pilot and smoke)",
        ("--preset=smoke", "--run=somewhere"): "--preset and --phase have no say",
    }
    answers = {flags: refused(box, *SMOKE_P0, *flags) for flags in cases}
    assert {} == {flags: line for flags, line in answers.items() if cases[flags] not in line}
    assert [] == box.runs


def test_values_are_read_only_after_the_equals_sign(box: Box) -> None:
    """`pytest --local evals` and `--mock evals` do not read the folder as a model or a mode."""
    assert "--local=FILE.gguf" in refused(box, "--local", "evals")
    assert "--mock=MODE" in refused(box, "--mock", "evals")
    assert "--mock=flawed" in refused(box, *SMOKE_P0, "--mock", "flawed")


def test_refusals_of_a_planned_run(box: Box) -> None:
    """Locked, orphaned, unaudited, edited, foreign: each says what is wrong with the run, before a worker exists."""
    assert 0 == box.pytest(*SMOKE_P0, "--mock").code
    run, again = box.run, ("evals", f"--run={box.run}", "--mock", "-n2")
    assert "backend mock-oracle, not mock-flawed" in refused(box, "evals", f"--run={run}", "--mock=flawed", "-n0")
    for name in ("lock", "workers.lock"):
        with (run / name).open("a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            assert str(run) in refused(box, *again)
    audit = (run / "audit.json").read_text()
    (run / "audit.json").write_text(json.dumps({**json.loads(audit), "manifest_hash": "0" * 64}))
    assert "audit" in refused(box, *again)
    (run / "audit.json").unlink()
    assert "audit" in refused(box, *again)
    (run / "audit.json").write_text(audit)
    schedule = (run / "schedule.jsonl").read_bytes()
    (run / "schedule.jsonl").write_bytes(schedule.replace(b'"depth":', b'"depth": ', 1))
    assert "schedule.jsonl: not the file that was planned" in refused(box, *again)
    (run / "schedule.jsonl").write_bytes(schedule)
    assert 0 == box.pytest(*again).code


def test_refusals_by_name(box: Box) -> None:
    """A missing run, an unknown preset, marker or expression, a confirmatory preset planned in passing."""
    cases = {
        ("evals", "--run=nowhere"): "nowhere",
        ("evals", "--preset=nothing"): "nothing",
        ("evals", "-m", "smoke and depth_99"): "depth_99",
        ("evals", "-m", "smoke and"): "wrong expression passed to -m",
        ("evals", "-m", "main", "--mock"): "preset main is confirmatory",
        (*SMOKE_P0, "--max-rpm=0"): "",
    }
    for arguments, expected in cases.items():
        session = box.pytest(*arguments)
        assert 4 == session.code
        assert expected in session.text
    assert all("smoke" in path.name for path in box.runs)


def test_execute_without_a_key_is_refused(box: Box) -> None:
    """The caps alone do not send: a key has to be in the environment."""
    assert "OPENAI_API_KEY" not in os.environ
    caps = ("--execute", "--max-generation-calls=1", "--max-http-attempts=3", "--local-token-cap=90000")
    assert "OPENAI_API_KEY is not set" in refused(box, *SMOKE_P0, *caps)


def test_automatic_worker_numbers_get_a_warning(box: Box) -> None:
    """-n auto counts CPUs; the session says so."""
    session = box.pytest(*SMOKE_P0, "-n", "auto")
    assert 0 == session.code
    assert "warning: -n auto counts CPUs" in session.text


def test_damaged_and_read_only_runs_are_refused_in_a_line(box: Box) -> None:
    """A broken ledger and a file in the place of the runs folder: the line names the file, no traceback."""
    assert 0 == box.pytest(*SMOKE_P0, "--mock").code
    ledger = box.run / "usage-ledger.jsonl"
    whole = ledger.read_bytes()
    ledger.write_bytes(b"nonsense\n" + whole)
    assert "usage-ledger.jsonl" in refused(box, "evals", f"--run={box.run}")
    assert "usage-ledger.jsonl" in refused(box, *SMOKE_P0, "--mock")
    ledger.unlink()
    other_backend = refused(box, "evals", f"--run={box.run}", "--mock=flawed")
    assert "says that nothing was sent, but trials have ended; restore it" in other_backend
    ledger.write_bytes(whole)
    (box.root / "runs").rename(box.root / "moved")
    (box.root / "runs").write_text("")
    assert "runs: File exists" in refused(box, *SMOKE_P0, "--mock")


def test_an_unreadable_terminal_record_is_said_in_a_line(box: Box) -> None:
    """The session after it sends nothing, writes no report, names the file and ends with 1; no traceback."""
    assert 0 == box.pytest(*SMOKE_P0, "--mock").code
    record = next(box.run.glob("trials/*/terminal.json"))
    record.write_bytes(record.read_bytes()[:50])
    session = box.pytest(*SMOKE_P0, "--mock")
    assert 1 == session.code
    assert "restore the file from a copy, or move it away" in session.text
    assert "Traceback" not in session.text
    assert "records_io.py" not in session.text
