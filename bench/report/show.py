"""One trial for a person at a terminal: what was asked, what came back, what was right, beside its sibling notations.

Every text of a model, a server or a plan passes through `escaping` before it is shown. Nothing is written.
"""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import TYPE_CHECKING

from bench.plan.errors import PlanError
from bench.plan.plan_files import Plan
from bench.prompt.build import build_request
from bench.report.escaping import excerpt, one_line, visible
from bench.report.examples import HEAD_LINES, TAIL_LINES
from bench.report.notations import labelled, titled
from bench.run.records_io import REQUEST, read_run_terminal, trial_dir
from bench.run.states import trial_states
from bench.score.blinding import refuse_if_blinded
from bench.score.inputs import Grader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bench.plan.records import ScheduleRow
    from bench.run.records import TerminalRecord

SHOWN_ID, SHOWN_ANSWER = 12, 40
GAP = "  "
NOT_SENT = "(not sent)"


def show_trial(run_dir: Path, wanted: str) -> str:
    """The trial whose id begins with ``wanted``, as text.

    Raises:
        BlindedError: the run is confirmatory and not finished.
        PlanError: no trial, or more than one, has such an id.
    """
    refuse_if_blinded(run_dir)
    plan = Plan.open(run_dir, verify=False)
    row = find_trial(plan, wanted)
    siblings = [other for other in plan.schedule if (other.case_id, other.replicate) == (row.case_id, row.replicate)]
    siblings.sort(key=lambda other: (other is not row, labelled(other.syntax)))
    view = _View(plan)
    sections = (
        _heading(row),
        view.judgements(siblings),
        view.tests(siblings),
        view.prompt(row),
        view.answers(siblings),
    )
    return "\n".join(line for section in sections for line in (*section, ""))


def find_trial(plan: Plan, wanted: str) -> ScheduleRow:
    """The row of the one trial whose id begins with ``wanted``; PlanError otherwise."""
    found = [row for row in plan.schedule if wanted and row.trial_id.startswith(wanted.lower())]
    if len(found) == 1:
        return found[0]
    if not found:
        raise PlanError(
            f"{one_line(wanted)[:80]!r}: no trial id of {plan.run_dir} begins like this; they stand in schedule.jsonl"
        )
    some = ", ".join(row.trial_id[:SHOWN_ID] for row in found[:3])
    raise PlanError(f"{wanted!r}: {len(found)} trials begin like this ({some}, …); give more of the id")


def _heading(row: ScheduleRow) -> list[str]:
    words = "natural words" if row.lexicon_set is None else f"nonce words, set {row.lexicon_set}"
    size = f"depth {row.depth}, filler {row.filler}, {words}, {row.lookup_kind} lookup, replicate {row.replicate}"
    return [
        f"trial {row.trial_id}",
        f"{labelled(row.syntax)}: {titled(row.task, row.view)}; {size}",
        f"case {row.case_id}",
    ]


class _View:
    """What is known of some trials of one run."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._grader = Grader(plan.run_dir, plan=plan)
        self._states = trial_states(plan.run_dir)

    def judgements(self, rows: Sequence[ScheduleRow]) -> list[str]:
        """A table: notation, outcome, answer, reason, diagnosis, id."""
        cells = [("notation", "outcome", "answer", "reason", "diagnosis", "trial")]
        for row in rows:
            state = self._states.get(row.trial_id, "not_dispatched")
            terminal = self._terminal(row)
            score = self._grader.score(row, terminal, state)
            answer = one_line(_answer(terminal))
            cells.append(
                (
                    labelled(row.syntax),
                    score.outcome.value,
                    answer if len(answer) <= SHOWN_ANSWER else answer[: SHOWN_ANSWER - 1] + "…",
                    one_line(score.reason),
                    one_line(", ".join(f"{key} {value}" for key, value in sorted(score.diagnosis.items()))) or "-",
                    row.trial_id[:SHOWN_ID],
                )
            )
        right = [] if rows[0].view == "program" else [f"right answer: {one_line(self._grader.expected(rows[0]))}", ""]
        return [*right, *aligned(cells)]

    def tests(self, rows: Sequence[ScheduleRow]) -> list[str]:
        """What is read, in all notations side by side: line i is the same event in each. Long ones in part."""
        if rows[0].view == "program":
            return ["The table to be written as a program is the same in every notation; it stands in the prompt."]
        columns = [_test_lines(self._message(row)) for row in rows]
        length = len(columns[0])
        shown = range(length)
        title = f"The test in every notation ({length} lines):"
        if length > HEAD_LINES + TAIL_LINES:
            shown_lines = {*range(HEAD_LINES), *range(length - TAIL_LINES, length)}
            title = f"The test in every notation (first {HEAD_LINES} and last {TAIL_LINES} of {length} lines):"
            columns = [[line for at, line in enumerate(column) if at in shown_lines] for column in columns]
            shown = range(len(columns[0]))
        table = [tuple(labelled(row.syntax) for row in rows)]
        table += [tuple(visible(column[at]) for column in columns) for at in shown]
        return [title, *aligned(table)]

    def prompt(self, row: ScheduleRow) -> list[str]:
        """The whole prompt of one trial."""
        return [
            f"Prompt of {labelled(row.syntax)}, instructions:",
            *_indented(self._request(row)[0]),
            "",
            "User message:",
            *_indented(self._request(row)[1]),
        ]

    def answers(self, rows: Sequence[ScheduleRow]) -> Iterator[str]:
        """Whole answers; with the right one where it depends on the notation."""
        for row in rows:
            yield f"Answer in {labelled(row.syntax)}:"
            yield from _indented(_answer(self._terminal(row)))
            if row.view == "program":
                yield f"Right answer in {labelled(row.syntax)}:"
                yield from _indented(self._grader.expected(row))

    def _terminal(self, row: ScheduleRow) -> TerminalRecord | None:
        if self._states.get(row.trial_id) != "terminal":
            return None
        return read_run_terminal(self._plan.run_dir, row.trial_id)

    def _message(self, row: ScheduleRow) -> str:
        return self._request(row)[1]

    def _request(self, row: ScheduleRow) -> tuple[str, str]:
        """Instructions and user message: as they were sent, else as they would be."""
        try:
            sent = json.loads((trial_dir(self._plan.run_dir, row.trial_id) / REQUEST).read_bytes())
            return str(sent["instructions"]), str(sent["input"][0]["content"])
        except (OSError, ValueError, LookupError, TypeError):
            request = build_request(self._plan, row)
            return request.instructions, request.input[0].content


def _answer(terminal: TerminalRecord | None) -> str:
    if terminal is None:
        return NOT_SENT
    if terminal.refusals:
        return "(refusal) " + " ".join(terminal.refusals)
    return terminal.text or f"({terminal.ending}, no text)"


def _test_lines(message: str) -> list[str]:
    """The program in the TEST section of a reading task."""
    return message.rpartition("\nTEST\n")[2].split("\n")[1:-1]


def _indented(text: str) -> list[str]:
    return ["  " + line for line in excerpt(text, head=200_000, tail=20_000).shown.split("\n")]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines of text, columns flush left."""
    columns = zip_longest(*rows, fillvalue="")
    widths = [max(len(cell) for cell in column) for column in columns]
    return [GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
