"""Progress lines: they stand between reports, lose nothing, and say no more than the reports do."""

import io
import re
from types import SimpleNamespace

import pytest

from bench.plugin.progress import CALM_S, TERMINAL_S, ProgressLines, seconds_between
from tests.plugin.boxes import Box
from tests.run.run_fakes import FakeClock

LINE = re.compile(
    r"locality: (\d+) of 20 ended \| (.*) \| tokens ([\d,]+) / no cap \| \d+ requests/min \| time left .+"
)


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_lines_count_what_has_come_and_nothing_is_lost(box: Box, workers: str) -> None:
    """Each line stands alone and counts every report so far; plain text, for this is no terminal."""
    session = box.pytest("evals", "-m", "smoke and p0", "--mock=planted", workers, "--progress=0.001")
    found = [LINE.fullmatch(line) for line in session.text.splitlines() if "locality: " in line and " ended | " in line]
    assert all(found)
    ended = [int(match[1]) for match in found]
    words = [{word: int(n) for word, n in (part.rsplit(" ", 1) for part in match[2].split(", "))} for match in found]
    assert sorted(set(ended)) == ended
    assert ended == [sum(counts.values()) for counts in words]
    assert 10 < len(ended)
    assert 20 == sum(session.counts.values())
    assert all(count <= session.counts[word] for word, count in words[-1].items())
    assert int(found[-1][3].replace(",", "")) > 0
    assert "\x1b" not in session.text


def config(*, asked=None, verbosity=0):
    return SimpleNamespace(getoption={"progress": asked}.get, get_verbosity=lambda: verbosity)


@pytest.mark.parametrize(
    ("given", "terminal", "expected"),
    [
        ({}, True, TERMINAL_S),
        ({}, False, CALM_S),
        ({"verbosity": -1}, True, CALM_S),
        ({"verbosity": -2}, True, 0.0),
        ({"verbosity": -2, "asked": 5.0}, False, 5.0),
        ({"asked": 0.0}, True, 0.0),
    ],
)
def test_how_often_depends_on_who_looks(given, terminal, expected):
    """Often on a terminal, calm into a file and at -q, silent at -qq; what is asked for goes before."""
    assert expected == seconds_between(config(**given), terminal=terminal)


def report(word, *, when="call", outcome="passed"):
    """A report that carries its outcome, as the controller has it."""
    properties = [("trial_id", "0" * 64), ("outcome", word)] if word else [("trial_id", "0" * 64)]
    return SimpleNamespace(
        user_properties=properties, when=when, failed=outcome == "failed", skipped=outcome == "skipped"
    )


def test_a_blinded_session_shows_pooled_counts(tmp_path):
    """There every answer's word is `recorded` before it comes here, and only missing ones have another."""
    clock = FakeClock()
    lines = ProgressLines(tmp_path, wanted=4, every_s=0, clock=clock)
    clock.advance(20)
    for told in (report(None), report(None), report("api_rejected", outcome="skipped")):
        lines.pytest_runtest_logreport(told)
    assert (
        "locality: 3 of 4 ended | recorded 2, api_rejected 1 | tokens 0 / no cap | 0 requests/min | time left 7 s"
        == lines.line()
    )


def test_a_crashed_trial_counts_and_other_failures_do_not(tmp_path):
    """A report in place of a dead worker's trial, a pending trial, a broken tear-down, a set-up."""
    lines = ProgressLines(tmp_path, wanted=9, every_s=0, clock=FakeClock())
    lines.pytest_runtest_logreport(report("ambiguous_outcome", when="???", outcome="failed"))
    lines.pytest_runtest_logreport(report("pending", outcome="skipped"))
    lines.pytest_runtest_logreport(report("correct", when="teardown", outcome="failed"))
    lines.pytest_runtest_logreport(report("correct", when="setup"))
    assert lines.line().startswith("locality: 1 of 9 ended | ambiguous_outcome 1, pending 1 |")


def test_a_damaged_ledger_does_not_end_the_session(tmp_path):
    """The line is left out; whoever sends refuses the ledger in its own words."""
    (tmp_path / "usage-ledger.jsonl").write_bytes(b'{"crc":"00000000","seq":1}\n{"crc":"00000000","seq":2}\n')
    written = io.StringIO()
    clock = FakeClock()
    lines = ProgressLines(tmp_path, wanted=9, every_s=1, clock=clock)
    reporter = SimpleNamespace(ensure_newline=lambda: None, write_line=written.write)
    manager = SimpleNamespace(get_plugin={"terminalreporter": reporter}.get)
    lines.pytest_sessionstart(SimpleNamespace(config=SimpleNamespace(pluginmanager=manager)))
    clock.advance(5)
    lines.pytest_runtest_logreport(report("correct"))
    assert "" == written.getvalue()
