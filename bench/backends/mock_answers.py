"""The texts a mock answers with: the right one from gold, and wrong ones of every kind. Pure; no HTTP.

This is the only module beside the planner, audit and score that may see gold.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bench.backends.mock_rates import draw
from bench.lang.ast import Nop, Program
from bench.lang.lexicon import lexicon_for
from bench.lang.render import render_program
from bench.lang.syntax import END, NOTATIONS, RenderSpec
from bench.lang.tree import program_from_json
from bench.plan.errors import PlanError

if TYPE_CHECKING:
    from bench.backends.mock_rates import Slip
    from bench.data.gold_row import GoldRow
    from bench.plan.records import ScheduleRow

FOUR_DIGITS = re.compile(r"\b[1-9][0-9]{3}\b")
TEST_SECTION = "\nTEST\n"
REFUSAL = "I cannot help with that."


def right_answer(row: ScheduleRow, gold: GoldRow) -> str:
    """The gold answer as a model would write it; PlanError if gold has none for the task."""
    match row.task:
        case "scope_lookup" if gold.value is not None:
            return str(gold.value)
        case "active_stack" if gold.stack is not None:
            return json.dumps(gold.stack)
        case "ast_to_source" if gold.ast is not None:
            return render_program(program_from_json(gold.ast), _spec(row))
    raise PlanError(f"gold.jsonl: case {row.case_id} has no answer for {row.task}; plan the run again")


def wrong_answer(row: ScheduleRow, gold: GoldRow, episode: str) -> str:
    """A well-formed answer that is not the gold one: another value of the program, another stack, another tree."""
    match row.task:
        case "scope_lookup":
            return _other_value(row, gold, episode)
        case "active_stack":
            stack = gold.stack or []
            return json.dumps(stack[:-1] if draw(2, row.trial_id, "stack") else [*stack, "n_zzzzzzzz"])
        case "ast_to_source":
            program = program_from_json(gold.ast)
            return render_program(Program((*program.body, Nop("p_zzzzzzzz"))), _spec(row))


def slipped_answer(slip: Slip, row: ScheduleRow, gold: GoldRow, episode: str) -> str:
    """The text of an answer that goes wrong in the way of ``slip``; empty where there is none."""
    right = right_answer(row, gold)
    match slip:
        case "wrong_answer" | "valid_syntax_wrong_ast":
            return wrong_answer(row, gold, episode)
        case "invalid_answer_format":
            return f"The answer is {right}."
        case "invalid_generated_syntax":
            return _without_a_line(row, right)
        case "incomplete_output" | "suspected_truncation":
            return right[: len(right) // 2]
        case "no_text" | "refusal":
            return ""


def _other_value(row: ScheduleRow, gold: GoldRow, episode: str) -> str:
    """An integer of the tested program, as a reader who lost the scopes would pick one."""
    tested = episode.rpartition(TEST_SECTION)[2]
    found: list[str] = FOUR_DIGITS.findall(tested)
    others = sorted({value for value in found if value != str(gold.value)})
    if not others:
        return str((gold.value or 0) + 1)
    return others[draw(len(others), row.trial_id, "value")]


def _without_a_line(row: ScheduleRow, source: str) -> str:
    """The source with one closing line too few or too many: the last one left out, or written twice."""
    lines = source.splitlines(keepends=True)
    spec = _spec(row)
    first_word = spec.notation.closer_words[0].replace(END, spec.lexicon.end)
    last = max((at for at, line in enumerate(lines) if line.split()[:1] == [first_word]), default=0)
    times = 2 * draw(2, row.trial_id, "line")
    return "".join([*lines[:last], *lines[last : last + 1] * times, *lines[last + 1 :]])


def _spec(row: ScheduleRow) -> RenderSpec:
    return RenderSpec(NOTATIONS[row.syntax], lexicon_for(row.lexicon_set))
