"""What stands beside the model in section 5: rules of thumb, lengths, padding."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bench.audit import audit_run
from bench.report.document import Table
from bench.report.load import load_run
from bench.report.section_baselines import length_blocks, shortcut_blocks
from bench.run.records import UsageRecord
from tests.report.conftest import answer_all, record

if TYPE_CHECKING:
    from bench.plan.plan_files import Plan


def shortcut(rule: str, accuracy: float, *, where: str, tracks: bool = False) -> dict[str, object]:
    return {"rule": rule, "where": where, "accuracy": accuracy, "cases": 4, "tracks": tracks}


def tokens(plan: Plan, of_notation: dict[str, int]) -> str:
    """The words of the padding note when each notation's prompts have this many tokens."""

    def choose(row, right):
        amount = of_notation.get(row.syntax, 100)
        return record(row, right, usage=UsageRecord(amount, 10, amount + 10))

    answer_all(plan, choose)
    note = length_blocks(load_run(plan.run_dir))[-1]
    return "".join(getattr(part, "text", part) for part in note.parts)


def test_the_best_blind_rule_stands_beside_the_model(reading_run: Plan) -> None:
    """A row has the best rule that tracks nothing, the near-tracking rule apart, and the model at the same place."""
    document = {
        "shortcuts": [
            shortcut("first let", 0.25, where="after_close, depth 2, inner"),
            shortcut("last let", 0.5, where="after_close, depth 2, inner"),
            shortcut("one close too few", 0.75, where="after_close, depth 2, inner", tracks=True),
        ]
    }
    (reading_run.run_dir / "audit.json").write_text(json.dumps(document), encoding="utf-8")
    answer_all(reading_run, lambda row, right: record(row, right if row.lookup_kind == "inner" else "0"))
    (table,) = [block for block in shortcut_blocks(load_run(reading_run.run_dir)) if isinstance(block, Table)]
    assert (("after closes, depth 2, inner", "4", "last let", "50.0 %", "75.0 %", "100.0 %"),) == table.rows


def test_a_real_audit_is_understood(reading_run: Plan) -> None:
    """The audit's own file gives a row for each view, depth and kind, and a length for each notation."""
    audit_run(reading_run.run_dir)
    data = load_run(reading_run.run_dir)
    (shortcuts,) = [block for block in shortcut_blocks(data) if isinstance(block, Table)]
    assert ["after closes, depth 2, inner", "after closes, depth 2, outer"] == [row[0] for row in shortcuts.rows][:2]
    characters = length_blocks(data)[0]
    assert [("T1 scope lookup", "natural"), ("T1 scope lookup", "nonce")] == [row[:2] for row in characters.rows]


def test_a_missing_audit_is_said(reading_run: Plan) -> None:
    """Without audit.json there is a sentence, not an empty table."""
    (block,) = shortcut_blocks(load_run(reading_run.run_dir))
    assert ("Shortcut baselines: there is no audit of this plan beside the run.",) == block.parts


def test_under_padding_is_said(reading_run: Plan) -> None:
    """Where E has fewer tokens than D, D − E still contains length, and the report says where."""
    said = tokens(reading_run, {"named_end": 120, "padded_end": 110})
    assert said.startswith("E has fewer tokens than D in: T1 scope lookup, natural; T1 scope lookup, nonce.")
    assert "under-pads" in said


def test_enough_padding_is_said(reading_run: Plan) -> None:
    """Where E has at least as many, the sentence is the other one."""
    said = tokens(reading_run, {"named_end": 110, "padded_end": 110})
    assert said == "E has at least as many tokens as D everywhere: D − E is not a matter of D being longer."
