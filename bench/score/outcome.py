"""The twelve outcomes of a trial and the two groups they fall into (specification, section 10.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Outcome(StrEnum):
    """What became of one planned trial."""

    CORRECT = "correct"
    WRONG_ANSWER = "wrong_answer"
    INVALID_ANSWER_FORMAT = "invalid_answer_format"
    INVALID_GENERATED_SYNTAX = "invalid_generated_syntax"
    VALID_SYNTAX_WRONG_AST = "valid_syntax_wrong_ast"
    REFUSAL = "refusal"
    INCOMPLETE_OUTPUT = "incomplete_output"
    API_REJECTED = "api_rejected"
    TRANSPORT_FAILURE = "transport_failure"
    AMBIGUOUS_OUTCOME = "ambiguous_outcome"
    DECODE_FAILURE = "decode_failure"
    NOT_DISPATCHED = "not_dispatched"

    @property
    def evaluable(self) -> bool:
        """Whether the model's behaviour can be judged: correct counts 1, the other six 0; the rest is missing."""
        return self in MODEL_EVALUABLE


MODEL_EVALUABLE = frozenset(
    {
        Outcome.CORRECT,
        Outcome.WRONG_ANSWER,
        Outcome.INVALID_ANSWER_FORMAT,
        Outcome.INVALID_GENERATED_SYNTAX,
        Outcome.VALID_SYNTAX_WRONG_AST,
        Outcome.REFUSAL,
        Outcome.INCOMPLETE_OUTPUT,
    }
)
MISSING = frozenset(Outcome) - MODEL_EVALUABLE


@dataclass(frozen=True, slots=True)
class Score:
    """A grader's judgement of one answer text.

    ``lenient`` is the auxiliary score (a code fence around the whole answer removed; the text of an incomplete answer):
    0, 1 or None where there is no text. It enters no primary number. ``diagnosis`` holds per-task facts for the tables.
    """

    outcome: Outcome
    lenient: int | None
    reason: str
    diagnosis: Mapping[str, object]

    @property
    def strict(self) -> int | None:
        """1 if correct, 0 if another model-evaluable outcome, None if missing."""
        return int(self.outcome is Outcome.CORRECT) if self.outcome.evaluable else None
