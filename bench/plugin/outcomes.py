"""Outcomes on the progress line: what a report carries, and the letter and word that stand for it.

A passing item means *recorded*, never *correct*: pytest's own verdict is about the harness alone. Only plain strings
travel in reports, because a worker that sends anything else takes the xdist session down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.run.records import EVALUABLE_ENDINGS
from bench.score.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from bench.run.records import Ending

Status = tuple[str, str, tuple[str, dict[str, bool]]]

TRIAL, STATE, ENDING, REASON, OUTCOME = "trial_id", "trial_state", "trial_ending", "trial_reason", "outcome"
RECORDED = "recorded"  # the word while the controller has not graded (in workers), or must not (blinded runs)
PENDING = "pending"  # sent, but the session stopped without an answer: no terminal record

LETTERS: Mapping[str, tuple[str, str]] = {
    Outcome.CORRECT: (".", "green"),
    Outcome.WRONG_ANSWER: ("w", "yellow"),
    Outcome.INVALID_ANSWER_FORMAT: ("f", "yellow"),
    Outcome.INVALID_GENERATED_SYNTAX: ("y", "yellow"),
    Outcome.VALID_SYNTAX_WRONG_AST: ("t", "yellow"),
    Outcome.REFUSAL: ("r", "yellow"),
    Outcome.INCOMPLETE_OUTPUT: ("i", "yellow"),
    Outcome.API_REJECTED: ("R", "red"),
    Outcome.TRANSPORT_FAILURE: ("T", "red"),
    Outcome.DECODE_FAILURE: ("D", "red"),
    Outcome.AMBIGUOUS_OUTCOME: ("?", "red"),
    Outcome.NOT_DISPATCHED: ("", "cyan"),  # no letter: a dry run of thousands says so once, in the summary
    PENDING: ("p", "cyan"),
    RECORDED: (".", "green"),
}


def missing_word(state: str, ending: Ending | None) -> str | None:
    """The word of a trial that cannot be judged, or None if the model's behaviour was observed."""
    if state == "terminal":
        return None if ending in EVALUABLE_ENDINGS else ending
    return {"ambiguous": str(Outcome.AMBIGUOUS_OUTCOME), "pending": PENDING}.get(state, str(Outcome.NOT_DISPATCHED))


def carried(report: pytest.TestReport) -> dict[str, str]:
    """What the report says about its trial; empty for a test that is none."""
    return {key: value for key, value in report.user_properties if isinstance(value, str)}


def status(report: pytest.TestReport) -> Status | None:
    """Category, letter and word for the progress line; None leaves the report to pytest.

    A skip in set-up (dry run) and a call both speak; a harness failure stays a failure.
    """
    if report.failed or not (report.when == "call" or report.skipped):
        return None
    properties = carried(report)
    if TRIAL not in properties:
        return None
    word = properties.get(OUTCOME, RECORDED)
    letter, colour = LETTERS.get(word, ("-", "cyan"))
    return word, letter, (word.upper(), {colour: True})
