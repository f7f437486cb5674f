"""No interim looks: when a confirmatory run must not be shown by notation.

Decides only; who shows what while blinded is up to the surfaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.plan.plan_files import Plan
from bench.run.events import read_events
from bench.run.records_io import iter_terminals

if TYPE_CHECKING:
    from pathlib import Path

UNBLINDED = "report_unblinded"


class BlindedError(Exception):
    """Scores of an unfinished confirmatory run were asked for; one line that says what to do."""


def is_blinded(run_dir: Path) -> bool:
    """Whether a run is confirmatory, below its stop rule, and was never unblinded by an event."""
    plan = Plan.open(run_dir)
    if not plan.protocol["confirmatory"]:
        return False
    wanted = plan.protocol["stop_rule"]["planned_trials_terminal_percent"]
    ended = sum(terminal is not None for _, terminal in iter_terminals(run_dir, (r.trial_id for r in plan.schedule)))
    if 100 * ended >= wanted * len(plan.schedule):
        return False
    return not any(event.get("kind") == UNBLINDED for event in read_events(run_dir))


def refuse_if_blinded(run_dir: Path) -> None:
    """Raise ``BlindedError`` for a blinded run."""
    if is_blinded(run_dir):
        raise BlindedError(
            f"{run_dir}: confirmatory and not finished, so nothing is scored by notation; "
            "resume it, or lift the blinding for good with `locality report --unblind`"
        )
