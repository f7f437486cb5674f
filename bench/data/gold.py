"""Right answers: how they are found, written and read. Only the planner, audit, score and the mock may import this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from bench.data.gold_row import GoldRow
from bench.lang.reference_oracle import observe
from bench.lang.tree import program_to_json

if TYPE_CHECKING:
    from pathlib import Path

    from bench.data.expand import Case
    from bench.data.family import Family

GOLD_FILE = "gold.jsonl"

_ROW = TypeAdapter(GoldRow)


def gold_of(case: Case, family: Family) -> GoldRow:
    """The right answer to ``case``, by the oracle that walks the tree."""
    if case.cut is None:
        return GoldRow(case.case_id, ast=program_to_json(family.program))
    seen = observe(family.program, case.cut)
    if case.task == "active_stack":
        return GoldRow(case.case_id, stack=list(seen.active_scopes))
    return GoldRow(case.case_id, value=seen.value)


@dataclass(frozen=True, slots=True)
class HandAnswers:
    """What a person wrote beside a hand-made program."""

    value: int
    stack: tuple[str, ...]


def gold_by_hand(case: Case, family: Family, answers: HandAnswers) -> GoldRow:
    """The right answer to ``case`` as it was written by hand; the program itself is the answer of the writing task."""
    match case.task:
        case "scope_lookup":
            return GoldRow(case.case_id, value=answers.value)
        case "active_stack":
            return GoldRow(case.case_id, stack=list(answers.stack))
        case "ast_to_source":
            return GoldRow(case.case_id, ast=program_to_json(family.program))


def gold_to_json(row: GoldRow) -> dict[str, object]:
    """A row of ``gold.jsonl``: the case and the one answer that its task has."""
    answers = {"value": row.value, "stack": row.stack, "ast": row.ast}
    return {"case_id": row.case_id, **{name: answer for name, answer in answers.items() if answer is not None}}


def read_gold(run_dir: Path) -> dict[str, GoldRow]:
    """All right answers of a run by case.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if a row is not of the described form.
    """
    with (run_dir / GOLD_FILE).open("rb") as file:
        rows = [_ROW.validate_json(line) for line in file]
    return {row.case_id: row for row in rows}
