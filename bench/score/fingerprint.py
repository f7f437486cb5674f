"""What the graders answer on a fixed vector file, as one hash: the protocol's name for how answers are judged.

Covers behaviour, never source text: a refactoring leaves the hash alone, another judgement of one vector changes it.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from bench.plan.records import GoldRow, ScheduleRow
from bench.run.records import TerminalRecord
from bench.score.grade import grade
from bench.wire.hashing import hash_document

GRADER_VERSION = "1"
VECTORS = "grader_vectors.json"


@cache
def grader_hash() -> str:
    """SHA-256 in hexadecimal of the version and of outcome, lenient score and first error of every vector."""
    return hash_document({"version": GRADER_VERSION, "judgements": judgements(read_vectors())})


def read_vectors() -> dict[str, Any]:
    """The vector file: ``gold`` by name, and ``vectors`` of task, syntax, lexicon set, gold name, ending and text."""
    document: dict[str, Any] = json.loads(files("bench.score").joinpath(VECTORS).read_bytes())
    return document


def judgements(document: dict[str, Any]) -> list[object]:
    """One list per vector: outcome, lenient score, and where T3 has one, the first error with its place."""
    return [_judgement(vector, document["gold"][vector["gold"]]) for vector in document["vectors"]]


def _judgement(vector: dict[str, Any], gold: dict[str, Any]) -> list[object]:
    score = grade(_row(vector), _terminal(vector), GoldRow(vector["gold"], **gold))
    place = [score.diagnosis.get(key) for key in ("first_error", "line", "column")]
    return [score.outcome.value, score.lenient, place]


def _row(vector: dict[str, Any]) -> ScheduleRow:
    """A schedule row of which graders look at task, notation and lexicon alone."""
    return ScheduleRow(
        position=0,
        block=0,
        trial_id="",
        case_id=vector["gold"],
        family_id="",
        task=vector["task"],
        view="program" if vector["task"] == "ast_to_source" else "after_close",
        syntax=vector["syntax"],
        lexical="natural" if vector["lexicon_set"] is None else "nonce",
        lexicon_set=vector["lexicon_set"],
        example_set=0,
        depth=2,
        filler=0,
        seed_index=0,
        lookup_kind="inner",
        replicate=0,
        request_sha256="",
    )


def _terminal(vector: dict[str, Any]) -> TerminalRecord:
    """A terminal record of which graders look at ending and text alone."""
    return TerminalRecord(
        trial_id="",
        ending=vector["ending"],
        status=None,
        text=vector["text"],
        refusals=[],
        incomplete_reason=None,
        suspected_truncation=False,
        response_id=None,
        returned_model=None,
        request_id=None,
        usage=None,
        counted_input_tokens=None,
        error=None,
        backend="",
        synthetic_mock=True,
        series=0,
        queue_s=0.0,
        count_s=0.0,
        attempts=[],
        backoff_s=0.0,
        total_s=0.0,
        sent_at=None,
        ended_at="",
    )
