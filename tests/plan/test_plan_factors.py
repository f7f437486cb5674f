"""Factors as data: what each preset changes, what it leaves alone, and that adding them changed no earlier plan."""

import pytest

from bench.data.terms import CHECK_SYNTAX
from bench.plan.config import Grid, PresetConfig, load_preset
from bench.plan.draft import draft_plan
from bench.plan.model_settings import resolve_model
from bench.plan.plan_files import Plan
from bench.plan.planner import write_plan
from bench.prompt.build import build_request
from bench.prompt.style import PromptStyle
from bench.score.fingerprint import grader_hash
from tests.planned import CREATED_AT, plan_into, read_rows, tiny_preset

# written down before any factor, preset or sixth notation existed
EARLIER = {
    ("smoke", "p0"): "7251b9e53bca321b95e7861d4aef1d6a1dce0e7898239c5327a796c43eba6e3a",
    ("smoke", "p1"): "bd163782736a4310119f16be81526f857df522b6c1889fd7665c22aa079ab938",
    ("pilot", "p0"): "58ab578203c178c4fa201f6b51bb82b8abb1c73434e2d9f0e2506e0c0d2e47d4",
    ("pilot", "p1"): "7e5738d6ef57ac70cc7aa1eb44ffb2ed09646c02c8089a445ce5e9f2cbe5ee0a",
    ("main", "p1"): "c4d7975d4ffce3c99247c4c64a22348fd479924fc03406288e0b1aa1c8e9af2e",
}
# of schedule.jsonl, which holds every trial id and the hash of every prompt
EARLIER_SCHEDULES = {
    ("smoke", "p1"): "ca27d3103e2d05558127594317b3c9d9260340beb73d652445cf5501fc3d0033",
    ("pilot", "p1"): "8b27085c002e4a78a5663618655f5b8f2357940fea0565004dc07796b7f80057",
    ("main", "p1"): "faafb3fb4080064057f37a085bdf33602300b9e054a59ec3ccb0b4c874b97f9b",
}
ARMS = ("misnamed", "effort_none", "effort_medium", "indent_2", "shots_0", "shots_2", "shots_16", "all_func")
SMALL = {"reading": Grid(depths=[2, 4], fillers=[0], seeds_per_cell=2), "tasks": ["scope_lookup"], "writing": None}


@pytest.mark.parametrize(
    ("preset", "phase"),
    [pytest.param(*which, marks=pytest.mark.slow if "main" in which else ()) for which in EARLIER],
)
def test_earlier_plans_are_what_they_were(tmp_path, preset, phase):
    """Protocol hashes, trial ids and prompts of the five notations' plans did not change by a byte."""
    config = load_preset(preset)
    model = resolve_model(config, model=None, environment={})
    made = write_plan(
        config, phase=phase, model=model, out=tmp_path / "run", grader_hash=grader_hash(), created_at=CREATED_AT
    )
    assert EARLIER[preset, phase] == made.protocol_hash
    wanted = EARLIER_SCHEDULES.get((preset, phase))
    assert wanted in {None, Plan.open(tmp_path / "run").manifest.files["schedule.jsonl"]}


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    """The pilot and each preset that asks about its families, on a small grid: plans by name."""
    folder = tmp_path_factory.mktemp("arms")
    for name in ("pilot", *ARMS):
        plan_into(folder / name, load_preset(name).model_copy(update=SMALL), "p0")
    return {name: Plan.open(folder / name) for name in ("pilot", *ARMS)}


@pytest.mark.parametrize("arm", ARMS)
def test_an_arm_asks_the_pilots_questions(plans, arm):
    """Same cases, same answers, same sets: runs can be compared pair by pair."""
    pilot, other = plans["pilot"], plans[arm]
    assert pilot.case_ids() == other.case_ids()
    assert pilot.manifest.files["gold.jsonl"] == other.manifest.files["gold.jsonl"]
    changed = [name for name in ("families.jsonl",) if pilot.manifest.files[name] != other.manifest.files[name]]
    assert (["families.jsonl"] if arm == "all_func" else []) == changed


def prompts(plan):
    """The user message of every case and notation."""
    return {(row.case_id, row.syntax): build_request(plan, row).input[0].content for row in plan.schedule}


def test_the_five_notations_prompts_are_the_pilots_beside_wrong_names(plans):
    """named_end and generic_end are asked with the very bytes of the pilot, so the check differs in F alone."""
    pilot, check = prompts(plans["pilot"]), prompts(plans["misnamed"])
    shared = {key: text for key, text in check.items() if key[1] != CHECK_SYNTAX}
    assert {"named_end", "generic_end"} == {syntax for _, syntax in shared}
    assert {key: pilot[key] for key in shared} == shared


@pytest.mark.parametrize(("arm", "effort"), [("effort_none", "none"), ("pilot", "low"), ("effort_medium", "medium")])
def test_effort_changes_no_prompt(plans, arm, effort):
    """Only the effort that is sent."""
    assert effort == plans[arm].model.reasoning_effort
    assert prompts(plans["pilot"]) == prompts(plans[arm])


def test_indentation_changes_only_the_start_of_lines(plans):
    """Two spaces for each open block in every program; what stands behind them is the same."""
    flat, indented = prompts(plans["pilot"]), prompts(plans["indent_2"])
    assert flat == {key: "\n".join(line.lstrip(" ") for line in text.split("\n")) for key, text in indented.items()}
    assert all("\n  " in text for text in indented.values())
    assert "\n    let " in indented["pilot-reading-d4-f0-s00/scope_lookup/before_close/natural", "braces"]


@pytest.mark.parametrize(("arm", "shots"), [("shots_0", 0), ("shots_2", 2), ("pilot", 8), ("shots_16", 16)])
def test_fewer_examples_are_among_more(plans, arm, shots):
    """0, 2, 8 and 16 examples; every example of a smaller number is one of the next; SYNTAX and TEST are the same."""
    full = prompts(plans["shots_16"])
    for key, text in prompts(plans[arm]).items():
        head, _, rest = text.partition("\n\nEXAMPLES\n") if shots else (text.partition("\n\nTEST\n")[0], "", text)
        examples, _, test = rest.rpartition("\n\nTEST\n")
        bodies = [block.split("\n", 1)[1] for block in examples.split("\n\n")] if shots else []
        assert shots == len(bodies)
        assert all(body in full[key] for body in bodies)
        assert full[key].startswith(head)
        assert full[key].endswith(test)


def test_two_examples_show_both_views(plans):
    """The first before and the first after its closes: else two examples could show one view only."""
    from bench.prompt.examples import shown_examples

    for task in ("scope_lookup", "active_stack"):
        for number in range(8):
            views = [example.view for example in shown_examples(task, number, 2)]
            assert ["after_close", "before_close"] == sorted(views)


def test_no_example_leaves_meaning_and_syntax(plans):
    """The instructions and the SYNTAX section stand there; the word EXAMPLES does not."""
    plan = plans["shots_0"]
    request = build_request(plan, plan.schedule[0])
    assert "The nearest still-open scope" in request.instructions
    assert request.input[0].content.startswith("SYNTAX\n")
    assert "EXAMPLE" not in request.input[0].content.upper()


def test_all_blocks_are_funcs(plans):
    """Tests and examples; the language still has three kinds."""
    plan = plans["all_func"]
    text = prompts(plan)["pilot-reading-d4-f0-s00/scope_lookup/before_close/natural", "named_end"]
    programs = text.split("\n\nEXAMPLES\n")[1]
    assert "func n_" in programs
    assert not any(line.startswith(("unit", "area", "end unit", "end area")) for line in programs.split("\n"))
    assert "KIND is unit, func or area." in text


def test_wrong_names_are_wrong_everywhere_in_a_prompt(plans):
    """A closing name opens no block of the prompt, stands there once, and is the one that the case keeps."""
    plan = plans["misnamed"]
    for (case_id, syntax), text in prompts(plan).items():
        if syntax == CHECK_SYNTAX and "natural" in case_id:
            lines = [line.split() for line in text.split("\n")]
            opened = {words[1] for words in lines if len(words) == 2 and words[0] in {"unit", "func", "area"}}
            closing = [words[2] for words in lines if len(words) == 3 and words[0] == "end" and words[2] != "OTHER"]
            test_part = text.rpartition("\n\nTEST\n")[2]
            assert len(closing) == len(set(closing))
            assert not opened & set(closing)
            assert {name for name in closing if name in test_part} <= set(plan.case(case_id).aliases.values())


def test_a_block_keeps_its_wrong_name(plans):
    """The mapping hangs on the family alone: the same in every view, regime and task."""
    plan = plans["misnamed"]
    by_family = {}
    for case_id in plan.case_ids():
        by_family.setdefault(plan.case(case_id).family_id, []).append(plan.case(case_id).aliases)
    assert all(all(aliases == kept[0] for aliases in kept) for kept in by_family.values())
    assert len(by_family) == len({tuple(kept[0].items()) for kept in by_family.values()})


def test_only_the_check_keeps_wrong_names(plans):
    """A plan of the five has no such key in its cases, its notations or its contrasts."""
    assert not any("aliases" in row for row in read_rows(plans["pilot"].run_dir, "cases.jsonl"))
    assert all("aliases" in row for row in read_rows(plans["misnamed"].run_dir, "cases.jsonl"))
    contrasts = {name: plan.protocol["analysis"]["exploratory_contrasts"] for name, plan in plans.items()}
    assert ["misnamed_end-named_end", "misnamed_end-generic_end"] == contrasts["misnamed"][7:]
    assert 7 == len(contrasts["pilot"])


def test_the_plan_knows_its_style(plans):
    """What a worker builds prompts with comes from the protocol."""
    assert PromptStyle(8, 0, None) == plans["pilot"].prompt_style
    assert PromptStyle(8, 2, None) == plans["indent_2"].prompt_style
    assert PromptStyle(16, 0, None) == plans["shots_16"].prompt_style
    assert "func" == plans["all_func"].prompt_style.kind


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"syntaxes": ["named_end", "misnamed_end"]}, "take ast_to_source out of tasks"),
        ({"families_of": "pilot", "confirmatory": True}, "a confirmatory preset asks about families of its own"),
        ({"kinds": "unit"}, "Input should be 'func'"),
        ({"indentation": "tabs"}, "Input should be 'none' or 'two_spaces'"),
        ({"name": "misnamed_end"}, "already a marker"),
    ],
)
def test_what_cannot_be_combined(changes, message):
    """Refused with one line."""
    with pytest.raises(ValueError, match=message):
        tiny_preset(**changes)


def test_hand_made_cases_take_no_factor():
    """They are written in one way and stand alone."""
    smoke = load_preset("smoke").model_dump()
    with pytest.raises(ValueError, match="no kinds, no families_of"):
        PresetConfig.model_validate({**smoke, "kinds": "func"})


def test_one_kind_changes_nothing_else():
    """Names, values, cuts, seeds and ids of every family stay."""
    kinds, func = (draft_plan(tiny_preset(kinds=kinds), "p1").families for kinds in (None, "func"))
    for drawn, made in zip(kinds, func, strict=True):
        assert (drawn.family_id, drawn.skeleton, drawn.after_cut, drawn.seeds) == (
            made.family_id,
            made.skeleton,
            made.after_cut,
            made.seeds,
        )
    assert kinds != func
