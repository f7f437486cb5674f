"""Sessions as a user types them, with the mock behind the client, at -n 0 and -n 2."""

import json
import xml.etree.ElementTree as ET

import pytest

from tests.plugin.boxes import Box

BOTH = pytest.mark.parametrize("workers", ["-n0", "-n2"])
SMOKE_P0 = ("evals", "-m", "smoke and p0")


def test_dry_run_sends_nothing_and_says_what_it_would_take(box: Box) -> None:
    """Without a backend every trial is not_dispatched, one folded summary prices it, and the run stays unbound."""
    session = box.pytest(*SMOKE_P0, "-n2")
    assert 0 == session.code
    assert {"not_dispatched": 20} == session.counts
    command = next(line for line in session.text.splitlines() if line.startswith("to send them: "))
    assert "pytest evals -m 'smoke and p0' -n2 --execute --max-generation-calls=20 --max-http-attempts=40" in command
    assert session.text.count("not_dispatched") <= 3
    assert [] == box.terminals()
    assert box.run.name.startswith("smoke-p0-live-")


@BOTH
def test_mock_session_from_plan_to_report(box: Box, workers: str) -> None:
    """Every trial is recorded, scored and reported; the same command again sends nothing and exits 0."""
    first = box.pytest(*SMOKE_P0, "--mock", workers, "--junitxml=junit.xml")
    assert (0, {"correct": 20}) == (first.code, first.counts)
    assert f"runs/{box.run.name} (mock-oracle), 0 of 20 already terminal" in first.text
    assert f"report: runs/{box.run.name}/report.md" in first.text
    assert "synthetic_mock=true" in first.text
    assert 20 == len((box.run / "scores.jsonl").read_text().splitlines())
    properties = {(node.get("name"), node.get("value")) for node in ET.parse(box.root / "junit.xml").iter("property")}
    assert ("outcome", "correct") in properties
    before = {path: path.stat().st_mtime_ns for path in box.terminals()}
    again = box.pytest(*SMOKE_P0, "--mock", workers)
    assert (0, {}) == (again.code, again.counts)
    assert "20 of 20 already terminal" in again.text
    assert "spent: 0 generation calls, 0 HTTP attempts" in again.text
    assert before == {path: path.stat().st_mtime_ns for path in box.terminals()}


@BOTH
def test_selections_are_judged_against_all_planned_trials(box: Box, workers: str) -> None:
    """A cell is selected by marker or keyword; the rest is counted as not sent; resuming one cell sends it alone."""
    part = box.pytest("evals", "-m", "smoke and p0 and named_end", "--mock", workers)
    assert (0, 4) == (part.code, part.counts["correct"])
    assert "leaves 16 of 20 planned trials not_dispatched (never wrong) and breaks 4 blocks" in part.text
    scored = [json.loads(line)["outcome"] for line in (box.run / "scores.jsonl").read_text().splitlines()]
    assert (4, 16) == (scored.count("correct"), scored.count("not_dispatched"))
    done = box.pytest("evals", "-m", "smoke and p0", "-k", "NAMED_end", "--mock", workers)
    assert 0 == done.code
    assert "spent: 0 generation calls" in done.text
    missed = box.pytest(*SMOKE_P0, "-k", "nothing_like_it", "--mock", workers)
    assert 4 == missed.code
    assert "matches none of the 20 planned trials" in missed.text


def test_collect_only_lists_and_leaves_nothing_behind(box: Box) -> None:
    """Listing plans in a temporary folder; ids and cells read as documented."""
    session = box.pytest("evals", "-m", "p0 and smoke and braces", "--collect-only", "-q")
    listed = [line for line in session.text.splitlines() if "::" in line]
    assert 4 == len(listed)
    assert all(line.startswith("evals/test_scope_lookup.py::test_scope_lookup[depth") for line in listed)
    assert all(line.endswith("-natural-after_close-braces-r0]") for line in listed)
    assert [] == box.runs


@BOTH
def test_flawed_answers_are_words_not_failures(box: Box, workers: str) -> None:
    """All three tasks: wrong answers pass as recorded, infrastructure is skipped by name and makes exit 1."""
    session = box.pytest("evals", "--mock=planted", workers, "-rA")
    assert 60 == sum(session.counts.values())
    assert {"correct", "wrong_answer"} <= set(session.counts)
    assert "failed" not in session.counts
    assert 0 == session.code
    assert "smoke-p1-mock-planted-" in box.run.name


def test_a_plan_is_made_for_evaluations_only(box: Box) -> None:
    """`pytest tests` and `pytest .` plan nothing, whatever the options say."""
    (box.root / "tests").mkdir()
    (box.root / "tests" / "test_other.py").write_text("def test_other():\n    pass\n")
    for argument in ("tests", "."):
        session = box.pytest(argument, "--mock")
        assert (0, {"passed": 1}) == (session.code, session.counts)
    mixed = box.pytest("evals", "tests", "-m", "not p1", "--mock", "-n2", "--phase=p0")
    assert (0, {"correct": 20, "passed": 1}) == (mixed.code, mixed.counts)


def test_order_survives_a_shuffling_plugin(box: Box) -> None:
    """Another plugin may shuffle or reverse; trials are run in schedule order all the same."""
    reverse = box.plugin(
        "reversing",
        "import pytest\n\n@pytest.hookimpl(trylast=True)\ndef pytest_collection_modifyitems(items):\n    items.reverse()\n",
    )
    session = box.pytest("evals", "-m", "smoke", "--phase=p0", "--mock", reverse, "-v")
    names = [line.split("[")[1].split("]")[0] for line in session.text.splitlines() if "CORRECT" in line]
    rows = [json.loads(line) for line in (box.run / "schedule.jsonl").read_text().splitlines()]
    assert [row["syntax"] for row in rows] == [name.split("-")[-2] for name in names]
    assert [f"s{row['seed_index']:02d}" for row in rows] == [name.split("-")[2] for name in names]


@BOTH
def test_listeners_see_a_trial_begin_report_and_end(box: Box, workers: str) -> None:
    """In pytest's order in every process; only that a set-up passed does not reach the controller."""
    listen = box.plugin(
        "listening",
        "heard = {}\n\n"
        "def pytest_runtest_logstart(nodeid, location):\n    heard.setdefault(nodeid, []).append(('start', location))\n\n"
        "def pytest_runtest_logreport(report):\n    heard[report.nodeid].append((report.when, report.location))\n\n"
        "def pytest_runtest_logfinish(nodeid, location):\n    heard[nodeid].append(('finish', location))\n\n"
        "def pytest_sessionfinish(session):\n"
        "    name = getattr(session.config, 'workerinput', {}).get('workerid', 'controller')\n"
        "    (session.config.rootpath / f'{name}.json').write_text(__import__('json').dumps(heard))\n",
    )
    session = box.pytest(*SMOKE_P0, "--mock", workers, listen, "-vv", "--durations=1")
    assert (0, {"correct": 20}) == (session.code, session.counts)
    heard = {path.stem: json.loads(path.read_text()) for path in box.root.glob("*.json")}
    here = heard.pop("controller")
    there = {nodeid: events for worker in heard.values() for nodeid, events in worker.items()}
    assert (20, 0 if workers == "-n0" else 20) == (len(here), len(there))
    code = (box.root / "evals" / "test_scope_lookup.py").read_text().splitlines()
    for events_of, whole in (here, workers == "-n0"), (there, True):
        for nodeid, events in events_of.items():
            expected = ["start", *(["setup"] if whole else []), "call", "teardown", "finish"]
            assert expected == [what for what, _ in events]
            ((path, number, name),) = {tuple(location) for _, location in events}
            assert f"{path}::{name}" == nodeid
            assert code[number].startswith(("@pytest.mark.scope_lookup", "def test_scope_lookup("))
