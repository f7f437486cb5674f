"""Lines for the terminal: the header, what a dry run would send, what a session found. Text only, no decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.plugin.options import execute_command
from bench.plugin.selection import broken_blocks
from bench.run.status import forecast, read_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.plugin.aftermath import Written
    from bench.plugin.evaluation import Evaluation
    from bench.run.session import ControllerSession, SessionEnd

NOTES = {
    "mock": "synthetic_mock=true: every answer is fabricated, no number here says anything about a model",
    "local": "answers of a small model on this machine: they show that the instrument works, no more",
}


def header(evaluation: Evaluation, *, terminal: int, session: ControllerSession | None) -> list[str]:
    """The lines above the session: run, backend, how much is done, what recovery found."""
    planned, backend = len(evaluation.schedule), evaluation.backend
    where = "dry run" if backend.kind == "dry" else backend.name
    lines = [f"locality: {evaluation.shown_run_dir} ({where}), {terminal} of {planned} already terminal"]
    if session is not None:
        lines += [f"locality: {warning}" for warning in session.warnings]
    return lines


def dry_run(evaluation: Evaluation, *, pending: frozenset[int], arguments: Sequence[str]) -> list[str]:
    """What the selected pending trials would cost at worst, and the command that sends them."""
    if not pending:
        return [f"dry run: nothing is pending in this selection of {evaluation.shown_run_dir}"]
    costs = forecast(read_run(evaluation.run_dir, verify=False), sorted(pending))
    attempts = costs.count_requests + costs.generation_requests
    command = execute_command(
        [str(argument) for argument in arguments],
        generation_calls=costs.trials,
        http_attempts=attempts,
        tokens=costs.worst_case_tokens,
    )
    need = f"{attempts} HTTP requests ({costs.count_requests} counts, {costs.generation_requests} generations)"
    return [
        f"dry run, nothing was sent: {costs.trials} trials not_dispatched",
        f"they need {need} and reserve at most {costs.worst_case_tokens:,} tokens",
        f"to send them: {command}",
    ]


def after(evaluation: Evaluation, *, written: Written, end: SessionEnd | None) -> list[str]:
    """The summary table, what was spent, why it stopped if it did, and where the report is."""
    lines = [line for line in written.table.splitlines() if not line.startswith("report: ")]  # it is said last
    if note := NOTES.get(evaluation.backend.kind):
        lines.append(note)
    if end is not None:
        lines.append(
            f"spent: {end.generation_calls} generation calls, {end.http_attempts} HTTP attempts, "
            f"{end.known_tokens:,} tokens known, {end.unresolved_tokens:,} reserved and unresolved"
        )
        if end.ambiguous:
            lines.append(f"{end.ambiguous} ambiguous (sent, maybe billed, no answer): {resolving(evaluation)}")
        if end.stop_reason:
            detail = f" ({end.stop_detail})" if end.stop_detail else ""
            lines.append(f"stopped: {end.stop_reason}{detail}; the same command goes on where this one stopped")
    if written.error:
        lines += [f"no report, the answers are in {evaluation.shown_run_dir}; this is a defect here:", *written.error]
    if written.report is not None:
        lines.append(f"report: {evaluation.shown(written.report)}")
    return lines


def resolving(evaluation: Evaluation) -> str:
    """What a person can do about ambiguous trials."""
    return f"--retry-ambiguous sends again, locality resolve --run {evaluation.shown_run_dir} closes"


def partial_selection(evaluation: Evaluation, *, pending: frozenset[int]) -> str:
    """One line if blocks are selected in part, else nothing."""
    left = pending - evaluation.selected
    broken = broken_blocks(evaluation.schedule, asked=evaluation.selected, left=left)
    if not broken:
        return ""
    return (
        f"warning: the selection leaves {len(left)} of {len(evaluation.schedule)} planned trials not_dispatched (never "
        f"wrong) and breaks {broken} blocks: notations cannot be compared there"
    )
