"""Planted defects: each is found, by the check that names it and with the case that shows it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from bench.audit import audit_run
from bench.llm.model import TextMessage
from bench.prompt.build import build_request
from tests.planned import plan_into, read_rows, reseal, tiny_preset, write_rows


@pytest.fixture
def run(tmp_path):
    """A tiny plan with all tasks, regimes and views."""
    plan_into(tmp_path / "run", tiny_preset())
    return tmp_path / "run"


def failures(report):
    """The checks that failed, with their first offenders."""
    return {row.name: row.first_offender for row in report.rows if row.passed is False}


def edited(run, name, change: Callable[[dict], None], pick: Callable[[dict], bool] = bool):
    """Change the first row that ``pick`` accepts, and make the hashes agree again."""
    rows = read_rows(run, name)
    change(next(row for row in rows if pick(row)))
    write_rows(run, name, rows)
    return audit_run(run)


def is_lookup(row):
    return "/scope_lookup/after_close/natural" in row["case_id"]


def test_an_untouched_plan_passes(run):
    """Every row that must hold holds and has examined something."""
    report = audit_run(run)
    assert {} == failures(report)
    assert report.passed
    assert all(row.examined for row in report.rows)


def test_defect_01_a_wrong_answer_in_gold(run):
    """A lookup's value off by one."""

    def change(row):
        row["value"] += 1

    found = failures(edited(run, "gold.jsonl", change, is_lookup))
    assert found["oracles agree with each other and with gold"].startswith("tiny-reading-d2-f1-s00/scope_lookup/after")


def test_defect_02_a_wrong_stack_in_gold(run):
    """A closed block among the open ones."""
    found = failures(
        edited(run, "gold.jsonl", lambda row: row["stack"].append("n_aaaaaaaa"), lambda row: "stack" in row)
    )
    assert "oracles agree with each other and with gold" in found


def test_defect_03_a_case_without_an_answer(run):
    """One gold row is missing."""
    write_rows(run, "gold.jsonl", read_rows(run, "gold.jsonl")[1:])
    assert "every case has an answer" in failures(audit_run(run))


def lets_of(body, variable):
    """All lets of a variable in a program's JSON, in order."""
    for stmt in body:
        if stmt[0] == "let" and stmt[1] == variable:
            yield stmt
        elif isinstance(stmt[-1], list):
            yield from lets_of(stmt[-1], variable)


def test_defect_04_before_and_after_have_one_answer(run):
    """Every let of the probed variable binds the same value; then decoys are answers and closing changes nothing."""

    def change(row):
        for stmt in lets_of(row["program"], row["variable"]):
            stmt[2] = 4242

    found = failures(edited(run, "families.jsonl", change))
    assert "tiny-reading-d2-f1-s00" == found["the answer differs before and after the closes"]
    assert "tiny-reading-d2-f1-s00" == found["never closing is wrong after the closes"]
    assert "tiny-reading-d2-f1-s00" == found["one close too few is wrong after the closes"]
    assert "values are distinct four-digit integers" in found
    assert "gold stands only in its own let, and hangs on it" in found


def test_defect_05_a_decoy_holds_the_answer(run):
    """The value of a closed sibling is made that of the answer's own let."""
    gold = next(row["value"] for row in read_rows(run, "gold.jsonl") if is_lookup(row))

    def change(row):
        lets = list(lets_of(row["program"], row["variable"]))
        decoy = next(stmt for body in siblings(row["program"]) for stmt in lets_of(body, row["variable"]))
        assert decoy in lets
        decoy[2] = gold

    found = failures(edited(run, "families.jsonl", change))
    assert "two closed siblings bind the variable, and neither is an answer" in found
    assert "gold stands only in its own let, and hangs on it" in found


def siblings(body):
    """The bodies of the blocks that hold no block and no nop: closed siblings."""
    for stmt in body:
        if isinstance(stmt[-1], list):
            if all(inner[0] == "let" for inner in stmt[-1]):
                yield stmt[-1]
            yield from siblings(stmt[-1])


def test_defect_06_one_structure_twice(run):
    """A family takes over the program and cuts of another one."""
    rows = read_rows(run, "families.jsonl")
    for key in ("program", "variable", "probe_id", "before_cut", "after_cut", "skeleton"):
        rows[1][key] = rows[0][key]
    write_rows(run, "families.jsonl", rows)
    found = failures(audit_run(run))
    assert "tiny-reading-d2-f1-s01" == found["skeletons are unique"]
    assert "tiny-reading-d2-f1-s01" == found["lookup kinds are what the programs say"]


def test_defect_07_a_structure_of_another_class(run):
    """The plan calls itself pilot, whose structures are of class 1."""
    document = json.loads((run / "protocol.json").read_bytes())
    document["preset"] = "pilot"
    (run / "protocol.json").write_text(json.dumps(document), encoding="utf-8")
    reseal(run)
    assert "tiny-reading-d2-f1-s00" == failures(audit_run(run))["skeletons have the class of their preset"]


def test_defect_08_a_test_shares_a_name_with_an_example(run):
    """A nop of the test is renamed to one of an example that it is shown with."""
    from bench.lang.ast import Nop
    from bench.lang.walk import events_of
    from bench.prompt.examples import example_bank

    cases = read_rows(run, "cases.jsonl")
    number = next(row["example_set"] for row in cases if is_lookup(row))
    shown = [example.family for example in example_bank("scope_lookup")[number] if example.family.filler]
    name = next(event.payload for event in events_of(shown[0].program) if isinstance(event, Nop))

    def change(row):
        text = json.dumps(row["program"])
        start = text.index('"p_')
        row["program"] = json.loads(text[: start + 1] + name + text[start + 11 :])

    found = failures(edited(run, "families.jsonl", change))
    assert "families share no skeleton and no name with examples" in found
    assert "examples share no name with tests" in found


@pytest.mark.parametrize(
    ("key", "check"), [("lexicon_set", "nonce lexicons are balanced"), ("example_set", "example sets are balanced")]
)
def test_defect_09_one_set_for_all(run, key, check):
    """Every family gets the same nonce lexicon, or the same examples."""
    for name in ("cases.jsonl", "schedule.jsonl"):
        rows = read_rows(run, name)
        for row in rows:
            row[key] = None if row[key] is None else 0
        write_rows(run, name, rows)
    assert check in failures(audit_run(run))


def test_defect_10_one_notation_always_first(run):
    """Rows inside each block are put in one order."""
    rows = sorted(read_rows(run, "schedule.jsonl"), key=lambda row: (row["block"], row["syntax"]))
    for position, row in enumerate(rows):
        row["position"] = position
    write_rows(run, "schedule.jsonl", rows)
    found = failures(audit_run(run))
    assert "notations are balanced over the places of a block" in found
    assert "blocks are whole and stand together" not in found


def test_defect_11_a_block_is_torn(run):
    """Two rows of different blocks change places."""
    rows = read_rows(run, "schedule.jsonl")
    rows[0], rows[7] = rows[7], rows[0]
    rows[0]["position"], rows[7]["position"] = 0, 7
    write_rows(run, "schedule.jsonl", rows)
    assert "blocks are whole and stand together" in failures(audit_run(run))


def test_defect_12_all_lookups_are_of_one_kind(run):
    """The label alone is changed; both the balance and the programs contradict it."""
    for name in ("families.jsonl", "schedule.jsonl"):
        rows = read_rows(run, name)
        for row in rows:
            row["lookup_kind"] = "inner"
        write_rows(run, name, rows)
    found = failures(audit_run(run))
    assert "lookup kinds are balanced" in found
    assert "tiny-reading-d2-f1-s01" == found["lookup kinds are what the programs say"]


def test_defect_13_an_edited_trial_id(run):
    """Ids are hashes of what they name."""
    found = failures(edited(run, "schedule.jsonl", lambda row: row.update(trial_id="0" * 64)))
    assert "trial ids are unique and hash what they name" in found


def test_defect_14_another_prompt_than_planned(run):
    """The schedule holds another request's hash."""
    found = failures(edited(run, "schedule.jsonl", lambda row: row.update(request_sha256="0" * 64)))
    assert "requests are those of the schedule" in found


@dataclass(frozen=True)
class Tampered:
    """Builds requests as planned, but with one text replaced in one notation's message."""

    syntax: str
    old: str
    new: str
    instructions: bool = False

    def __call__(self, plan, row):
        request = build_request(plan, row)
        if row.syntax != self.syntax:
            return request
        if self.instructions:
            return replace(request, instructions=request.instructions.replace(self.old, self.new, 1))
        content = self.new.join(request.input[0].content.rsplit(self.old, 1))
        return replace(request, input=(TextMessage("user", content),))


@pytest.mark.parametrize(
    ("tampered", "check"),
    [
        (
            Tampered("braces", "Return only", "Think, then return", instructions=True),
            "notations share every other line",
        ),
        (Tampered("braces", "is the unique name", "names"), "notations share every other line"),
        (Tampered("typed_end", "SYNTAX\n", "SYNTAX\nThis is typed_end.\n"), "no label, placeholder or id in a prompt"),
        (Tampered("braces", "SYNTAX\n", "SYNTAX\n<description>\n"), "no label, placeholder or id in a prompt"),
        (Tampered("braces", "\nTEST\n", "\nTEST \n"), "prompts can be taken apart and parsed"),
        (Tampered("generic_end", "\nExample 8\n", "\nExample 9\n"), "prompts can be taken apart and parsed"),
        (Tampered("padded_end", "z_aaaaaaaa", "z_aaaaaaa"), "prompts can be taken apart and parsed"),
        (Tampered("named_end", "\nprobe q_", "\nend\nprobe q_"), "prompts can be taken apart and parsed"),
    ],
)
def test_defect_15_a_prompt_that_favours_or_betrays_a_notation(run, tampered, check):
    """Another sentence, a label, a placeholder, another layout, a broken terminator: in one notation only."""
    found = failures(audit_run(run, build=tampered))
    assert check in found
    assert "requests are those of the schedule" in found or check == "prompts can be taken apart and parsed"


def with_later_code(plan, row):
    """Shows the whole program and only then the probe."""
    from bench.lang.ast import CutPoint
    from bench.lang.walk import events_of
    from bench.prompt.build import request_of
    from bench.prompt.episode import prompt_parts

    case = plan.case(row.case_id)
    family = plan.family(case.family_id)
    if case.cut is not None:
        end = len(events_of(family.program))
        case = replace(case, cut=CutPoint(end, case.cut.probe_id, case.cut.variable))
    return request_of(prompt_parts(case, family, row.syntax), case.task, plan.model)


def test_defect_16_later_code_in_a_prompt(run):
    """Closes that come after the cut."""
    found = failures(audit_run(run, build=with_later_code))
    assert "a prefix ends at its probe, no later code" in found


def with_more_room_for_named_end(plan, row):
    """Gives the longest notation a higher limit."""
    request = build_request(plan, row)
    return replace(request, max_output_tokens=request.max_output_tokens * (2 if row.syntax == "named_end" else 1))


def test_defect_17_one_notation_may_write_more(run):
    """Limits must be equal for all notations."""
    assert "notations have one output limit" in failures(audit_run(run, build=with_more_room_for_named_end))


def test_defect_18_terminators_of_unequal_length(run, monkeypatch):
    """A shorter fixed suffix in padded_end, everywhere, so that all else is consistent."""
    from bench.lang.syntax import ALL_NOTATIONS
    from bench.prompt import episode

    shorter = replace(ALL_NOTATIONS["padded_end"], closer="<end> junk z_aaaaaaa")
    changed = {**ALL_NOTATIONS, "padded_end": shorter}
    episode.examples_section.cache_clear()
    episode.syntax_section.cache_clear()
    monkeypatch.setattr("bench.prompt.episode.ALL_NOTATIONS", changed)
    monkeypatch.setattr("bench.audit.prompt_text.ALL_NOTATIONS", changed)
    try:
        found = failures(audit_run(run))
    finally:
        episode.examples_section.cache_clear()
        episode.syntax_section.cache_clear()
    assert "terminators of named_end and padded_end are equally long" in found


def test_defect_19_natural_and_nonce_cases_differ_in_more_than_words(run):
    """A nonce case that is cut elsewhere than its natural twin."""
    rows = read_rows(run, "cases.jsonl")
    row = next(row for row in rows if "/scope_lookup/before_close/nonce" in row["case_id"])
    row["cut"]["event_count"] -= 1
    write_rows(run, "cases.jsonl", rows)
    found = failures(audit_run(run))
    assert "renaming natural words gives the nonce bytes" in found


def test_defect_20_a_filler_that_is_not_there(run):
    """The row says more nops than the program holds."""
    found = failures(edited(run, "families.jsonl", lambda row: row.update(filler=2)))
    assert "tiny-reading-d2-f1-s00" == found["depth, filler, closes and cuts are as designed"]
