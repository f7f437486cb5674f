"""The right answer of a case as text, for showing beside a model's answer after a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.score.inputs import Grader

if TYPE_CHECKING:
    from pathlib import Path

    from bench.plan.records import ScheduleRow


def expected_answers(run_dir: Path, rows: list[ScheduleRow]) -> dict[str, str]:
    """The right answer of each trial by trial id, in the trial's own notation and words."""
    grader = Grader(run_dir)
    return {row.trial_id: grader.expected(row) for row in rows}
