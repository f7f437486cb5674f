"""From a terminal record and gold to a score: the one function all surfaces share.

Total over endings and text: whatever a model said, a score comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, assert_never

from bench.lang.lexicon import lexicon_for
from bench.lang.syntax import NOTATIONS, RenderSpec
from bench.lang.tree import program_from_json
from bench.score.fence import without_fence
from bench.score.generation import grade_generation
from bench.score.lookup import INTEGER, grade_lookup
from bench.score.lookup_diagnosis import diagnose_lookup
from bench.score.outcome import Outcome, Score
from bench.score.stack import diagnose_stack, grade_stack, read_stack

if TYPE_CHECKING:
    from bench.lang.ast import CutPoint, Program
    from bench.plan.records import GoldRow, ScheduleRow
    from bench.run.records import TerminalRecord

Answer = TypeVar("Answer")

INT_DIGITS = 18
"""A longer integer is in no program; it is not turned into a number."""


@dataclass(frozen=True, slots=True)
class GradeContext:
    """What diagnosis may look at beside gold: the case's program and cut. Never decides an outcome.

    ``wrong_names`` are those that closing lines of the manipulation check show.
    """

    program: Program | None = None
    cut: CutPoint | None = None
    wrong_names: frozenset[str] = frozenset()


NO_CONTEXT = GradeContext()


def grade(row: ScheduleRow, terminal: TerminalRecord, gold: GoldRow, context: GradeContext = NO_CONTEXT) -> Score:
    """The score of a trial that has ended. Raises ``ValueError`` only if ``gold`` has no answer for the row's task."""
    match terminal.ending:
        case "answered":
            return _answered(row, terminal.text or "", gold, context)
        case "no_text":
            return Score(Outcome.INVALID_ANSWER_FORMAT, None, "completed without answer text", {})
        case "refusal":
            return Score(Outcome.REFUSAL, _lenient(row, terminal.text, gold), "refusal", {})
        case "incomplete":
            reason = "suspected_truncation" if terminal.suspected_truncation else terminal.incomplete_reason
            return Score(Outcome.INCOMPLETE_OUTPUT, _lenient(row, terminal.text, gold), reason or "incomplete", {})
        case "api_rejected" | "transport_failure" | "decode_failure" | "ambiguous_outcome":
            return Score(Outcome(terminal.ending), None, terminal.ending, {})
        case _:
            assert_never(terminal.ending)


def judge(row: ScheduleRow, text: str, gold: GoldRow) -> tuple[Outcome, str, dict[str, object]]:
    """Outcome, reason and the diagnosis that needs no context, of a complete answer under the strict rules."""
    match row.task:
        case "scope_lookup":
            return *grade_lookup(text, _given(gold.value, gold)), {}
        case "active_stack":
            return *grade_stack(text, _given(gold.stack, gold)), {}
        case "ast_to_source":
            spec = RenderSpec(NOTATIONS[row.syntax], lexicon_for(row.lexicon_set))
            return grade_generation(text, program_from_json(_given(gold.ast, gold)), spec)
        case _:
            assert_never(row.task)


def _answered(row: ScheduleRow, text: str, gold: GoldRow, context: GradeContext) -> Score:
    outcome, reason, diagnosis = judge(row, text, gold)
    if outcome is Outcome.WRONG_ANSWER:
        diagnosis = _wrong_answer(row, text, gold, context)
    return Score(outcome, _lenient(row, text, gold), reason, diagnosis)


def _wrong_answer(row: ScheduleRow, text: str, gold: GoldRow, context: GradeContext) -> dict[str, object]:
    if row.task == "active_stack":
        names = read_stack(text) or []
        diagnosis = diagnose_stack(names, gold.stack or [], context.program, context.cut)
        if context.wrong_names:
            diagnosis["wrong_names"] = len(context.wrong_names & {*names})
        return diagnosis
    if context.program is None or context.cut is None:
        return {}
    answer = text.strip()
    if len(answer) > INT_DIGITS or INTEGER.fullmatch(answer) is None:
        return {"answered": "not_in_program", "matches": ["not_in_program"]}
    return diagnose_lookup(int(answer), context.program, context.cut)


def _lenient(row: ScheduleRow, text: str | None, gold: GoldRow) -> int | None:
    """Auxiliary score of a text by itself, one covering code fence taken off; ``None`` where there is no text."""
    if not text:
        return None
    return int(judge(row, without_fence(text), gold)[0] is Outcome.CORRECT)


def _given(answer: Answer | None, gold: GoldRow) -> Answer:
    if answer is None:
        raise ValueError(f"gold of case {gold.case_id} has no answer for its task; plan the run again")
    return answer
