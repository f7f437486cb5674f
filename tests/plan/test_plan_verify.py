"""Verification: a plan derived again from its own protocol, and the name of whatever differs."""

import json

import pytest

from bench.audit import audit_run
from bench.plan.errors import PlanError
from bench.plan.manifest import HASHED_FILES
from bench.plan.verify import verify_run
from tests.planned import GRADER, plan_into, read_rows, reseal, tiny_preset, write_rows


@pytest.fixture
def run(tmp_path):
    """A tiny audited plan."""
    plan_into(tmp_path / "run", tiny_preset(tasks=["scope_lookup"], writing=None))
    audit_run(tmp_path / "run")
    return tmp_path / "run"


def test_an_untouched_plan_verifies(run):
    """Nothing to say."""
    assert [] == verify_run(run, grader_hash=GRADER)


def test_the_hand_made_plan_verifies_from_its_protocol_alone(tmp_path):
    """Its cases stand in the protocol, the file they came from is not needed."""
    plan_into(tmp_path / "run", "smoke")
    assert [] == verify_run(tmp_path / "run", grader_hash=GRADER)


@pytest.mark.parametrize("name", HASHED_FILES)
def test_a_changed_or_missing_file_is_named(run, name):
    """Against the manifest."""
    text = (run / name).read_text(encoding="utf-8")
    (run / name).write_text(text.replace("1", "2", 1), encoding="utf-8")
    assert [f"{name}: not the file that manifest.json lists"] == verify_run(run, grader_hash=GRADER)
    (run / name).unlink()
    assert [f"{name}: missing"] == verify_run(run, grader_hash=GRADER)


def test_a_forged_answer_is_found_although_all_hashes_agree(run):
    """Gold with a new manifest: planning again gives the right one; the audit belongs to another manifest."""
    rows = read_rows(run, "gold.jsonl")
    rows[0]["value"] = 1000 if rows[0]["value"] != 1000 else 1001
    write_rows(run, "gold.jsonl", rows)
    assert [
        "gold.jsonl: not what protocol.json gives when it is planned again",
        "audit.json: made for another manifest.json",
    ] == verify_run(run, grader_hash=GRADER)


def test_a_forged_protocol_is_found(run):
    """A config that would give other families."""
    document = json.loads((run / "protocol.json").read_bytes())
    document["config"]["master_seed"] = "8"
    (run / "protocol.json").write_text(json.dumps(document), encoding="utf-8")
    reseal(run)
    found = verify_run(run, grader_hash=GRADER)
    assert {"families.jsonl", "cases.jsonl", "gold.jsonl", "schedule.jsonl", "protocol.json", "audit.json"} == {
        line.split(":")[0] for line in found
    }


def test_another_grader_is_named(run):
    """The answers would be judged otherwise than planned."""
    (line,) = verify_run(run, grader_hash="e" * 64)
    assert "planned with another grader" in line


def test_a_folder_without_a_plan_is_an_error(tmp_path):
    """There is nothing to verify."""
    with pytest.raises(PlanError, match="no plan here"):
        verify_run(tmp_path, grader_hash=GRADER)
