"""Single sections and tables, from values that a test can read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bench.lang.syntax import NOTATIONS
from bench.report.conditions import read_conditions
from bench.report.formatting import number, p_value, points, share
from bench.report.illustration import closers_table, illustration_blocks
from bench.report.notations import lettered_contrast
from bench.report.section_contrasts import diagnosis_words
from bench.report.states import RunKind
from bench.score.outcome import Outcome
from bench.score.table import ResultRow

if TYPE_CHECKING:
    from bench.plan.plan_files import Plan


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (points(-0.04), "0.0"),
        (points(-1.26), "−1.3"),
        (points(5.25), "+5.2"),
        (points(None), "NA"),
        (share(0.625), "62.5 %"),
        (share(None), "NA"),
        (p_value(0.00001), "< 0.0001"),
        (p_value(1.0), "1"),
        (p_value(None), "not computed"),
        (number(-0.0), "0"),
        (number(-7.7777), "−7.778"),
        (lettered_contrast("named_end-generic_end"), "D − B"),
    ],
)
def test_numbers_read_like_this(shown: str, expected: str) -> None:
    """Unknown is NA, zero has no sign, minus is a minus."""
    assert expected == shown


def test_every_notation_shows_how_it_ends_a_block() -> None:
    """The table of closers comes from the notations' own data, so that a further one needs no new text here."""
    rows = dict(closers_table(list(NOTATIONS)).rows)
    assert {"A braces": "}", "B generic_end": "end", "D named_end": "end func name"}.items() <= rows.items()
    assert len(NOTATIONS) == len(rows)


def test_the_illustration_shows_the_same_program_twice() -> None:
    """Both listings differ in the closing line alone, and the answer is the oracle's."""
    _, bare, named, answer = illustration_blocks()
    differing = [pair for pair in zip(bare.text.split("\n"), named.text.split("\n"), strict=True) if pair[0] != pair[1]]
    assert [("end", "end func n_innerxyz")] == differing
    assert "at the probe: 7321" in answer.parts[0]


@pytest.mark.parametrize(
    ("diagnosis", "words"),
    [
        ({}, []),
        ({"answered": "decoy", "matches": ["decoy"]}, ["answered = decoy"]),
        (
            {"length_difference": -1, "missing_names": 1, "misordered": False},
            ["length_difference = -1", "has missing_names"],
        ),
        ({"first_error": "x", "line": 3, "column": 1, "error_class": "eof"}, ["error_class = eof"]),
        (
            {"first_difference": 4, "found": "let", "expected": "close", "event_difference": 0},
            ["let in place of close"],
        ),
    ],
)
def test_diagnoses_become_countable_words(diagnosis: dict[str, object], words: list[str], reading_run: Plan) -> None:
    """Places and lists stay in errors.csv; what can be counted is counted."""
    trial = ResultRow(row=reading_run.schedule[0], outcome=Outcome.WRONG_ANSWER, strict=0, diagnosis=diagnosis)
    assert words == diagnosis_words(trial)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"synthetic": True}, False),
        ({"confirmatory": False}, False),
        ({"frozen": False}, False),
        ({"complete": False}, False),
        ({"backends": frozenset({"local"})}, False),
    ],
)
def test_the_main_experiment_is_done_only_when_all_of_it_is(changes: dict[str, object], expected: bool) -> None:
    """Confirmatory, frozen, complete, live and not synthetic: one missing and the word is no."""
    facts = {
        "backends": frozenset({"live"}),
        "synthetic": False,
        "confirmatory": True,
        "frozen": True,
        "complete": True,
    }
    assert expected is RunKind(**(facts | changes)).main_done


def test_a_freeze_is_shown_with_its_facts(reading_run: Plan) -> None:
    """Commit, dirty state and detectable difference of freeze.json stand among the conditions."""
    assert ("frozen", "no") in read_conditions(reading_run).rows
    freeze = {"date": "2026-01-03", "git_commit": "abc", "dirty": False, "mde_pp": 4.5, "mde_source": "pilot"}
    (reading_run.run_dir / "freeze.json").write_text(json.dumps(freeze), encoding="utf-8")
    rows = read_conditions(reading_run).rows
    assert {("frozen", "yes"), ("freeze: git_commit", "abc"), ("freeze: mde_pp", "4.5")} <= set(rows)
