"""Factors in the report: their cautions are chosen by rule, and the manipulation check is the notation F."""

import random

import pytest

from bench.plan.config import PRESETS, load_preset
from bench.plan.protocol import CHECK_CONTRASTS
from bench.report import write_report
from bench.report.factors import FACTORS, cautions
from bench.report.notations import labelled, lettered_contrast
from bench.score.inputs import Grader
from bench.score.trials import load_trials
from bench.stats.analysis import analyse
from bench.stats.contrast import CHECKS
from tests.report.conftest import ACCURACY, answer_all, plan_run, planted, record

USED = {
    "misnamed": {"families of another preset", "wrong names"},
    "effort_none": {"families of another preset", "effort"},
    "effort_medium": {"families of another preset", "effort"},
    "indent_2": {"families of another preset", "indentation"},
    "shots_0": {"families of another preset", "number of examples", "no example"},
    "shots_2": {"families of another preset", "number of examples"},
    "shots_16": {"families of another preset", "number of examples"},
    "all_func": {"families of another preset", "one kind of block"},
}


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_gets_the_cautions_of_its_factors_and_no_other(preset):
    """Rules look at the configuration: smoke, pilot, main and hard change nothing and get none."""
    config = load_preset(preset).model_dump(mode="json")
    assert USED.get(preset, set()) == {factor.name for factor in FACTORS if factor.used(config)}
    assert len(USED.get(preset, set())) == len(cautions(config))


def test_protocol_and_statistics_name_the_same_checks():
    """What a plan announces is what is analysed."""
    assert tuple(contrast.name for contrast in CHECKS) == CHECK_CONTRASTS


def test_every_factor_belongs_to_a_preset():
    """No rule that nothing can trigger."""
    assert {factor.name for factor in FACTORS} == set().union(*USED.values())


def test_the_check_is_f():
    """A letter and a contrast of its own."""
    assert "F misnamed_end" == labelled("misnamed_end")
    assert "F − D" == lettered_contrast("misnamed_end-named_end")


@pytest.fixture(scope="module")
def misnamed(tmp_path_factory):
    """A complete synthetic run of the manipulation check."""
    out = tmp_path_factory.mktemp("misnamed") / "run"
    syntaxes = ["generic_end", "named_end", "misnamed_end"]
    plan = plan_run(out, tasks=["scope_lookup", "active_stack"], writing=None, syntaxes=syntaxes)
    dice = random.Random(5)
    ACCURACY.setdefault("misnamed_end", 0.5)
    answer_all(plan, lambda row, right: planted(row, right, dice=dice))
    return plan


def test_the_checks_contrasts_stand_beside_the_primary_one(misnamed):
    """F − D and F − B with Holm over these two; none of the seven, for their notations are not planned."""
    analysis = analyse(load_trials(misnamed.run_dir), misnamed.protocol)
    found = [row for row in analysis.contrasts if (row.task, row.view) == ("scope_lookup", "after_close")]
    assert ["misnamed_end-named_end", "misnamed_end-generic_end"] == [row.contrast for row in found]
    assert all("exploratory" in row.flags for row in found)
    smaller, larger = sorted(row.signflip_p for row in found)
    assert [min(1, 2 * smaller), max(min(1, 2 * smaller), larger)] == sorted(row.holm_p for row in found)
    assert "named_end-generic_end" == analysis.primary.contrast


def test_the_report_names_f_and_its_cautions(misnamed):
    """Section 7 says what F is, section 10 what it cannot tell."""
    text = write_report(misnamed.run_dir).report_md.read_text(encoding="utf-8")
    limits = text.split("\n## 10")[1]
    assert "F − D" in text
    assert "manipulation check" in text.split("\n## 7")[1].split("\n## 8")[0]
    assert "Ends of F repeat the right kind" in limits
    assert "end func another_name" in text


def test_a_stack_of_wrong_names_is_diagnosed(misnamed):
    """An answer that lists closing names says that they were read; in the other notations it would not be seen."""
    grader = Grader(misnamed.run_dir, plan=misnamed)
    found = {}
    for row in misnamed.schedule:
        if (row.task, row.view, row.lexical) == ("active_stack", "after_close", "natural"):
            alias = next(iter(misnamed.case(row.case_id).aliases.values()))
            found[row.syntax] = grader.score(row, record(row, f'["{alias}"]')).diagnosis.get("wrong_names")
    assert {"generic_end": None, "named_end": None, "misnamed_end": 1} == found
