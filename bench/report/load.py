"""Reads a run directory into the value a report is written from. Writes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bench.plan.errors import PlanError
from bench.plan.plan_files import Plan
from bench.plan.run_files import AUDIT_FILE
from bench.report.conditions import read_conditions
from bench.report.run_data import RunData
from bench.report.states import RunKind
from bench.run.events import read_events
from bench.score.expected import expected_answers
from bench.score.trials import load_trials
from bench.stats.analysis import analyse

if TYPE_CHECKING:
    from pathlib import Path


def load_run(run_dir: Path) -> RunData:
    """Everything the report says, from the plan, the trials, the audit and the events.

    Raises:
        PlanError: if there is no readable plan.
        RunFileError: if a record of a trial cannot be read.
    """
    plan = Plan.open(run_dir, verify=False)
    trials = load_trials(run_dir)
    analysis = analyse(trials, plan.protocol)
    conditions = read_conditions(plan)
    return RunData(
        run_dir=run_dir,
        conditions=conditions,
        trials=trials,
        analysis=analysis,
        audit=_audit(run_dir / AUDIT_FILE),
        events=read_events(run_dir),
        kind=RunKind(
            backends=frozenset(analysis.state.backends),
            synthetic=analysis.state.synthetic,
            confirmatory=conditions.confirmatory,
            frozen=conditions.frozen,
            complete=not analysis.state.provisional,
        ),
        expected=lambda rows: expected_answers(run_dir, list(rows)),
    )


def _audit(path: Path) -> dict[str, Any]:
    """The audit document; empty if the plan was never audited. Raises ``PlanError`` for a file that is none."""
    if not path.is_file():
        return {}
    try:
        document = json.loads(path.read_bytes())
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise PlanError(f"{path}: expected an audit, got a file that is none; run `locality audit --run {path.parent}`")
    return document
