"""Gold rows: found by the oracle, written and read back, refused if misshapen."""

import json

import pytest

from bench.data.expand import Questions, SetChoice, expand_family
from bench.data.generate import Generator, Slot
from bench.data.gold import HandAnswers, gold_by_hand, gold_of, gold_to_json, read_gold
from bench.lang.reference_oracle import observe
from bench.lang.tree import program_to_json

FAMILY = Generator(1, 2).family(Slot("t-0", "reading", "t", "reading/4-1-1", 4, 1, 1))
CASES = expand_family(
    FAMILY,
    SetChoice(0, 0),
    Questions(["scope_lookup", "active_stack", "ast_to_source"], ["after_close"], ["natural"]),
)


def test_each_task_has_its_own_answer():
    """A value, the open blocks, the whole program."""
    seen = observe(FAMILY.program, FAMILY.after_cut)
    lookup, stack, source = (gold_of(case, FAMILY) for case in CASES)
    assert (seen.value, None, None) == (lookup.value, lookup.stack, lookup.ast)
    assert list(seen.active_scopes) == stack.stack
    assert program_to_json(FAMILY.program) == source.ast


def test_answers_by_hand_are_taken_as_they_are():
    """Even where they are wrong: the audit must be able to see that."""
    answers = HandAnswers(1234, ("n_aaaaaaaa",))
    lookup, stack, _ = (gold_by_hand(case, FAMILY, answers) for case in CASES)
    assert (1234, ["n_aaaaaaaa"]) == (lookup.value, stack.stack)


def test_rows_come_back_as_they_were_written(tmp_path):
    """By case id."""
    rows = [gold_of(case, FAMILY) for case in CASES]
    lines = [json.dumps(gold_to_json(row)) + "\n" for row in rows]
    (tmp_path / "gold.jsonl").write_text("".join(lines), encoding="utf-8")
    assert {row.case_id: row for row in rows} == read_gold(tmp_path)


@pytest.mark.parametrize("row", ['{"case_id":"a","valu":1}', '{"case_id":"a","value":"1"}', '{"value":1}', "[]", "{"])
def test_a_misshapen_row_is_refused(tmp_path, row):
    """Unknown key, wrong type, missing id, no object, no JSON."""
    (tmp_path / "gold.jsonl").write_text(row + "\n", encoding="utf-8")
    with pytest.raises(ValueError):
        read_gold(tmp_path)
