"""What follows the last report: grades, scores, the written report. Files in, files out; nothing is sent.

The statistics and their libraries are imported here and only when a session is over, so that no sender carries them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.plugin import outcomes, privacy
from bench.run.records import EVALUABLE_ENDINGS
from bench.run.records_io import RunFileError, read_terminal, trial_dir
from bench.score.blinding import is_blinded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bench.plan.records import ScheduleRow


@dataclass(frozen=True, slots=True)
class Written:
    """The summary table and the path of ``report.md``, or why there are none."""

    table: str
    report: Path | None
    error: Sequence[str] = ()


NOTHING_WRITTEN = Written("", None)


class Grading:
    """Grades terminal trials one by one, for the progress line. Blinded, it says no more than that one is recorded."""

    def __init__(self, run_dir: Path, *, blinded: bool) -> None:
        from bench.score.inputs import Grader  # noqa: PLC0415 - reads gold: in the controller of a sending session only

        self._run_dir = run_dir
        self._grader = None if blinded else Grader(run_dir)

    def word(self, row: ScheduleRow) -> str:
        """The outcome's name."""
        terminal = read_terminal(trial_dir(self._run_dir, row.trial_id))
        if self._grader is None or terminal is None:
            return outcomes.RECORDED
        return str(self._grader.outcome(row, terminal))


def count_missing(run_dir: Path, rows: Iterable[ScheduleRow]) -> int:
    """How many of these trials are not both terminal and model-evaluable; an unreadable record is neither."""
    return sum(not _is_evaluable(trial_dir(run_dir, row.trial_id)) for row in rows)


def _is_evaluable(folder: Path) -> bool:
    try:
        terminal = read_terminal(folder)
    except RunFileError:
        return False
    return terminal is not None and terminal.ending in EVALUABLE_ENDINGS


def write_results(run_dir: Path) -> Written:
    """Score the run and write its report; a defect in either is told, and the answers stay on disk."""
    from bench.report import summary_table, write_report  # noqa: PLC0415 - see the module's second line
    from bench.score.scores import score_run  # noqa: PLC0415 - see the module's second line

    try:
        if not is_blinded(run_dir):
            score_run(run_dir)
        paths = write_report(run_dir)
        return Written(summary_table(run_dir), paths.report_md)
    except RunFileError as error:
        return Written("", None, [str(error)])
    except Exception as error:  # noqa: BLE001 - the answers are paid for and on disk; a broken report must not hide that
        return Written("", None, privacy.render(error).splitlines())
