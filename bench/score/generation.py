"""Grades a T3 answer: a strict parse in the asked notation and lexicon, and an equal tree (specification, 10.1).

The parser's error is the *first* one; nothing here counts all errors of a source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.lang.errors import ParseCode, ParseError
from bench.lang.parse import parse_program
from bench.lang.walk import events_of
from bench.score.outcome import Outcome

if TYPE_CHECKING:
    from bench.lang.ast import Program
    from bench.lang.syntax import RenderSpec

CLASSES: dict[ParseCode, str] = {
    ParseCode.CLOSE_KIND_MISMATCH: "close_kind",
    ParseCode.CLOSE_NAME_MISMATCH: "close_name",
    ParseCode.CLOSE_SUFFIX_MISMATCH: "close_suffix",
    ParseCode.MALFORMED_CLOSE: "close_form",
    ParseCode.UNCLOSED_SCOPE: "eof",
    ParseCode.UNDERFLOW: "underflow",
}
"""What the tables count; every other code is ``statement``, or ``extra_source`` behind a complete program."""


def grade_generation(text: str, gold: Program, spec: RenderSpec) -> tuple[Outcome, str, dict[str, object]]:
    """Outcome, reason and diagnosis."""
    if not text.strip():
        return Outcome.INVALID_ANSWER_FORMAT, "no answer text", {}
    try:
        program = parse_program(text, spec)
    except ParseError as error:
        return (
            Outcome.INVALID_GENERATED_SYNTAX,
            f"first error: {error.code}",
            _syntax_diagnosis(text, error, gold, spec),
        )
    if program == gold:
        return Outcome.CORRECT, "equal tree", {}
    return Outcome.VALID_SYNTAX_WRONG_AST, "another tree", _tree_diagnosis(program, gold)


def _syntax_diagnosis(text: str, error: ParseError, gold: Program, spec: RenderSpec) -> dict[str, object]:
    kind = CLASSES.get(error.code, "statement")
    if kind in {"statement", "underflow"} and _complete_before(text, error.line, spec) == gold:
        kind = "extra_source"
    return {"first_error": error.code.value, "line": error.line, "column": error.column, "error_class": kind}


def _complete_before(text: str, line: int, spec: RenderSpec) -> Program | None:
    """The program that stands before a line, if it is whole there."""
    try:
        return parse_program("\n".join(text.split("\n")[: line - 1]), spec)
    except ParseError:
        return None


def _tree_diagnosis(program: Program, gold: Program) -> dict[str, object]:
    """Where the event lists part, and what stands there in each (``end`` behind the last event)."""
    found, wanted = events_of(program), events_of(gold)
    index = next(
        (i for i, (a, b) in enumerate(zip(found, wanted, strict=False)) if a != b), min(len(found), len(wanted))
    )
    names = [type(events[index]).__name__.lower() if index < len(events) else "end" for events in (found, wanted)]
    return {
        "first_difference": index,
        "found": names[0],
        "expected": names[1],
        "event_difference": len(found) - len(wanted),
    }
