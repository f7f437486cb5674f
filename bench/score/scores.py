"""``scores.jsonl``: one row per planned trial in schedule order, made from the run's files alone and always the same.

The one place that writes it and the one that reads it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ConfigDict, TypeAdapter

from bench.plan.errors import PlanError
from bench.plan.plan_files import Plan
from bench.run.records_io import iter_terminals
from bench.run.states import trial_states
from bench.score.blinding import refuse_if_blinded
from bench.score.fingerprint import grader_hash
from bench.score.inputs import Grader
from bench.score.outcome import Outcome  # noqa: TC001 - pydantic reads the annotation when it builds the row type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from bench.run.records import TerminalRecord
    from bench.run.states import TrialState
    from bench.score.outcome import Score

SCORES = "scores.jsonl"


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One planned trial. ``strict`` is 1, 0 or ``None`` (missing); ``lenient`` enters no primary number."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    trial_id: str
    case_id: str
    outcome: Outcome
    evaluable: bool
    strict: int | None
    lenient: int | None
    reason: str
    diagnosis: dict[str, object]


_ROW = TypeAdapter(ScoreRow)


def score_run(run_dir: Path) -> list[ScoreRow]:
    """Grade every planned trial and write ``scores.jsonl`` whole or not at all.

    Raises:
        PlanError: the run was planned for another grader, or its plan cannot be read.
        BlindedError: the run is confirmatory and not finished.
        RunFileError: a terminal record cannot be read.
    """
    plan = Plan.open(run_dir)
    _refuse_other_grader(plan)
    refuse_if_blinded(run_dir)
    rows = graded_rows(run_dir, plan)
    _write_whole(run_dir / SCORES, b"".join(_ROW.dump_json(row) + b"\n" for row in rows))
    return rows


def graded_rows(run_dir: Path, plan: Plan) -> list[ScoreRow]:
    """The rows of ``scores.jsonl``; nothing is written."""
    grader = Grader(run_dir, plan=plan)
    return [
        _score_row(row.trial_id, row.case_id, grader.score(row, terminal, state))
        for row, (terminal, state) in zip(plan.schedule, endings(run_dir, plan), strict=True)
    ]


def endings(run_dir: Path, plan: Plan) -> Iterator[tuple[TerminalRecord | None, TrialState]]:
    """What ended each planned trial, in schedule order, and where the trial stands.

    A record of an earlier series does not end a trial that was sent again since.
    """
    states = trial_states(run_dir)
    for trial_id, terminal in iter_terminals(run_dir, (row.trial_id for row in plan.schedule)):
        state = states.get(trial_id, "not_dispatched")
        yield (terminal if state == "terminal" else None), state


def read_scores(run_dir: Path) -> list[ScoreRow]:
    """The rows as they were written. Raises ``OSError`` if there are none, ``ValueError`` for a row of another form."""
    return list(_read_rows((run_dir / SCORES).read_bytes().splitlines()))


def _read_rows(lines: Iterable[bytes]) -> Iterable[ScoreRow]:
    return map(_ROW.validate_json, lines)


def _refuse_other_grader(plan: Plan) -> None:
    if plan.typed_protocol.hashes.grader != grader_hash():
        raise PlanError(
            f"{plan.run_dir}: planned for another grader than this version's; score it with the version it was planned "
            "with, or make a new plan"
        )


def _score_row(trial_id: str, case_id: str, score: Score) -> ScoreRow:
    return ScoreRow(
        trial_id=trial_id,
        case_id=case_id,
        outcome=score.outcome,
        evaluable=score.outcome.evaluable,
        strict=score.strict,
        lenient=score.lenient,
        reason=score.reason,
        diagnosis=json.loads(json.dumps(dict(score.diagnosis), sort_keys=True)),
    )


def _write_whole(path: Path, data: bytes) -> None:
    """Write to a neighbour and rename: a reader sees the old file or the new one."""
    neighbour = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        neighbour.write_bytes(data)
        neighbour.replace(path)
    finally:
        neighbour.unlink(missing_ok=True)
