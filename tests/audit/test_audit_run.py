"""The audit as a whole: its file, its rows, and that no run goes without it."""

import json

import pytest

from bench.audit import audit_run, require_audit
from bench.audit.reported import order_p_value
from bench.plan.config import PRESETS, load_preset
from bench.plan.errors import PlanError
from bench.plan.plan_files import Plan
from tests.planned import plan_into, read_rows, reseal, tiny_preset, write_rows


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """The audited smoke plan with all three tasks; no test changes it."""
    out = tmp_path_factory.mktemp("plans") / "smoke"
    plan_into(out, "smoke")
    audit_run(out)
    return out


@pytest.fixture
def run(tmp_path):
    """A small plan of one's own."""
    plan_into(tmp_path / "run", tiny_preset(tasks=["scope_lookup"], writing=None))
    return tmp_path / "run"


@pytest.mark.parametrize("phase", ["p0", "p1"])
def test_the_hand_made_cases_pass(tmp_path, phase):
    """Rules of class, balance and shortcuts aside, every row holds for them too."""
    plan_into(tmp_path / "run", "smoke", phase)
    report = audit_run(tmp_path / "run")
    assert report.passed, report.summary


def test_a_grid_with_deep_programs_passes(tmp_path):
    """Depth 32, filler 40: trees stay inside the limits of parser and JSON."""
    grid = {"depths": [32], "fillers": [40], "seeds_per_cell": 2}
    plan_into(tmp_path / "run", tiny_preset(tasks=["scope_lookup"], writing=None, reading=grid))
    assert audit_run(tmp_path / "run").passed


@pytest.mark.slow
@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "smoke"])
def test_every_preset_passes(tmp_path, preset):
    """All tasks of each."""
    plan_into(tmp_path / "run", preset)
    report = audit_run(tmp_path / "run")
    assert report.passed, report.summary


def test_a_wrong_answer_by_hand_is_caught(tmp_path):
    """Here: the value of the deepest closed block."""
    smoke = load_preset("smoke")
    made = [case.model_copy(update={"value": 1694}) if case.id == "outer_lookup" else case for case in smoke.hand_made]
    plan_into(tmp_path / "run", smoke.model_copy(update={"hand_made": made}))
    report = audit_run(tmp_path / "run")
    assert report.summary.startswith(
        "audit failed: oracles agree with each other and with gold: smoke-s0/scope_lookup/after_close/natural braces"
    )


def test_the_file_holds_every_row_with_its_number(smoke):
    """And the manifest it was made for."""
    document = json.loads((smoke / "audit.json").read_bytes())
    assert Plan.open(smoke).manifest_hash == document["manifest_hash"]
    assert document["passed"] is True
    for row in document["rows"]:
        assert {"must": True, "reported": None}[row["kind"]] is row["passed"]
        assert row["examined"] > 0
        assert isinstance(row["number"], int | float)


def test_shortcuts_are_listed_for_each_view_depth_and_kind(smoke):
    """Last let of v is right before the closes, by construction, and never after them."""
    entries = json.loads((smoke / "audit.json").read_bytes())["shortcuts"]
    last = {entry["where"]: entry["accuracy"] for entry in entries if entry["rule"] == "let 1 of v from the end"}
    assert {1.0} == {rate for where, rate in last.items() if where.startswith("before_close")}
    assert {0.0} == {rate for where, rate in last.items() if where.startswith("after_close")}
    assert {True, False} == {entry["tracks"] for entry in entries}


def test_an_audit_writes_the_same_bytes_again(run):
    """It depends on the plan alone."""
    audit_run(run)
    first = (run / "audit.json").read_bytes()
    audit_run(run)
    assert first == (run / "audit.json").read_bytes()


def test_a_passed_audit_admits_the_run(run):
    """Without a word."""
    audit_run(run)
    require_audit(run)


def test_a_missing_audit_is_refused(run):
    """With the command that makes one."""
    with pytest.raises(PlanError, match="expected a passed audit, got none; run `locality audit --run"):
        require_audit(run)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"manifest_hash": 1}'])
def test_a_file_that_is_no_audit_is_refused(run, text):
    """Empty, another value, keys missing."""
    (run / "audit.json").write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match="got a file that is none"):
        require_audit(run)


def test_an_audit_of_another_manifest_is_refused(run):
    """Any new manifest, even one that only bears another time."""
    audit_run(run)
    manifest = json.loads((run / "manifest.json").read_bytes())
    (run / "manifest.json").write_text(json.dumps({**manifest, "created_at": "later"}), encoding="utf-8")
    with pytest.raises(PlanError, match="made for another manifest"):
        require_audit(run)


def test_a_failed_audit_is_refused(run):
    """And says that nothing may be sent."""
    rows = read_rows(run, "gold.jsonl")
    rows[0]["value"] += 1
    write_rows(run, "gold.jsonl", rows)
    report = audit_run(run)
    assert not report.passed
    with pytest.raises(PlanError, match="the audit failed; make a new plan"):
        require_audit(run)


def test_an_edited_file_is_refused_before_anything_is_audited(run):
    """Its hash is not that of the manifest."""
    (run / "cases.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(PlanError, match=r"cases\.jsonl: not the file that was planned"):
        audit_run(run)


def test_a_program_without_an_answer_is_a_finding_not_a_crash(run):
    """The probed variable is bound nowhere that is still open."""
    rows = read_rows(run, "families.jsonl")
    rows[0]["program"] = [["unit", "n_aaaaaaaa", [["let", rows[0]["variable"], 1234]]]]
    rows[0]["before_cut"], rows[0]["after_cut"] = 2, 3
    write_rows(run, "families.jsonl", rows)
    report = audit_run(run)
    assert "every cut has an answer" in {row.name for row in report.rows if row.passed is False}


def test_counted_tokens_are_compared_where_there_are_some(run):
    """Where padded_end has fewer than named_end it under-pads, and the row says so."""
    counts = {"named_end": 500, "padded_end": 490}
    lines = [
        json.dumps({"request_sha256": row.request_sha256, "input_tokens": counts.get(row.syntax, 400)}) + "\n"
        for row in Plan.open(run).schedule
    ]
    (run / "token-counts.jsonl").write_text("".join(lines) + '{"torn', encoding="utf-8")
    rows = [row for row in audit_run(run).rows if row.name.startswith("counted tokens")]
    assert [-10, -10] == [row.number for row in rows]
    assert {True} == {row.detail["padded_end_under_pads"] for row in rows}


def test_names_in_opening_order_are_seen_and_random_ones_are_not():
    """The permutation p of 40 families of 6 names: smallest possible if sorted, else not small."""
    assert 1 / 200 == order_p_value([[0, 1, 2, 3, 4, 5]] * 40)
    assert order_p_value([[2, 0, 5, 1, 4, 3], [3, 4, 1, 5, 0, 2]] * 20) > 0.5


def test_reseal_makes_a_changed_plan_open_again(run):
    """The helper of these tests does what it says; otherwise no planted defect would reach the audit."""
    (run / "gold.jsonl").write_text("", encoding="utf-8")
    reseal(run)
    assert Plan.open(run).schedule
