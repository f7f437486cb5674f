"""The audit with factors: every arm passes, and what could go wrong in one is found."""

import pytest

from bench.audit import audit_run
from bench.plan.config import Grid, load_preset
from bench.plan.plan_files import Plan
from tests.planned import plan_into, read_rows, tiny_preset, write_rows

SMALL = {"reading": Grid(depths=[2, 4], fillers=[0, 3], seeds_per_cell=2)}
ARMS = ("misnamed", "indent_2", "shots_0", "shots_2", "shots_16", "all_func")


def failures(report):
    """The checks that failed."""
    return {row.name for row in report.rows if row.passed is False}


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_passes(tmp_path, arm):
    """On a small grid of its own families."""
    plan_into(tmp_path / "run", load_preset(arm).model_copy(update=SMALL))
    report = audit_run(tmp_path / "run")
    assert report.passed, report.summary


@pytest.mark.parametrize("change", [{"indentation": "two_spaces"}, {"few_shot_count": 16}, {"kinds": "func"}])
def test_writing_passes_too(tmp_path, change):
    """Whole programs, indented or of one kind, natural and nonce."""
    plan_into(tmp_path / "run", tiny_preset(tasks=["ast_to_source"], reading=None, **change))
    report = audit_run(tmp_path / "run")
    assert report.passed, report.summary


@pytest.fixture
def misnamed(tmp_path):
    """A tiny plan of the manipulation check."""
    syntaxes = ["generic_end", "named_end", "misnamed_end"]
    plan_into(tmp_path / "run", tiny_preset(tasks=["scope_lookup"], writing=None, syntaxes=syntaxes))
    return tmp_path / "run"


@pytest.mark.parametrize("wrong", ["its own name", "another block's name"])
def test_a_name_that_is_not_wrong_is_found(misnamed, wrong):
    """The alias of a block is a name that the program uses."""
    rows = read_rows(misnamed, "cases.jsonl")
    row = next(row for row in rows if "/after_close/natural" in row["case_id"])
    plan = Plan.open(misnamed)
    own = list(row["aliases"])
    closed = plan.family(row["family_id"]).program
    assert closed is not None
    replaced = own if wrong == "its own name" else own[1:] + own[:1]
    row["aliases"] = dict(zip(own, replaced, strict=True))
    write_rows(misnamed, "cases.jsonl", rows)
    found = failures(audit_run(misnamed))
    assert {
        "wrong names are those of the family",
        "wrong names stand once in a prompt, each in one closing line",
    } <= found


def test_a_plan_made_for_another_number_of_examples_is_found(tmp_path):
    """The protocol says 2, the prompts hold what was planned."""
    from bench.prompt.build import build_request
    from bench.prompt.style import STANDARD

    plan_into(tmp_path / "run", tiny_preset(tasks=["scope_lookup"], writing=None, few_shot_count=2))

    def with_eight(plan, row):
        plan.prompt_style = STANDARD
        return build_request(plan, row)

    plan = Plan.open(tmp_path / "run")
    assert 2 == plan.prompt_style.shots
    assert "requests are those of the schedule" in failures(audit_run(tmp_path / "run", build=with_eight))


def test_flat_programs_in_an_indented_plan_are_found(tmp_path):
    """Every line of a program is looked at, the examples' too."""
    from dataclasses import replace

    from bench.llm.model import TextMessage
    from bench.prompt.build import build_request

    plan_into(tmp_path / "run", tiny_preset(tasks=["scope_lookup"], writing=None, indentation="two_spaces"))

    def flat(plan, row):
        request = build_request(plan, row)
        text = "\n".join(line.lstrip(" ") for line in request.input[0].content.split("\n"))
        return replace(request, input=(TextMessage("user", text),))

    assert "levels are indented as planned" in failures(audit_run(tmp_path / "run", build=flat))
