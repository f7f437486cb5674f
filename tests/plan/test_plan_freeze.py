"""The freeze: what it writes, what it refuses, and that one changed byte ends it."""

import hashlib
import json

import pytest

from bench.audit import audit_run
from bench.plan.errors import PlanError
from bench.plan.freeze import (
    FROZEN_FILES,
    freeze_run,
    frozen_changes,
    read_freeze,
    require_frozen,
)
from bench.plan.freeze_facts import FreezeFacts, SmallestEffect
from bench.plan.run_files import FREEZE_FILE
from bench.plan.tried_grids import tried_grids
from bench.plan.verify import verify_run
from tests.planned import GRADER, plan_into, tiny_preset

CAPABILITIES = {
    "model_requested": "gpt-5.6-terra",
    "model_returned": "gpt-5.6-terra-2026-09-01",
    "base_url": "https://api.openai.com/v1",
    "reasoning_effort": "low",
    "synthetic_mock": False,
    "errors": [],
}


@pytest.fixture
def run(tmp_path):
    """A tiny confirmatory plan, audited."""
    folder = tmp_path / "runs" / "tiny"
    plan_into(folder, tiny_preset(tasks=["scope_lookup"], writing=None, confirmatory=True))
    audit_run(folder)
    return folder


def freeze(run, *, dispatched=False, grader=GRADER, mde=4.25, **capabilities):
    """A freeze with made-up facts."""
    path = run.parent.parent / "capabilities.json"
    path.write_text(json.dumps({**CAPABILITIES, **capabilities}), encoding="utf-8")
    facts = FreezeFacts(
        date="2026-12-01T00:00:00+00:00",
        git_commit="c0ffee",
        dirty=True,
        diff_sha256="d" * 64,
        versions={"python": "3.11.7", "numpy": "2.3.0"},
        effect=SmallestEffect(mde, "variances of runs/pilot"),
        tried_grids=tried_grids(run.parent),
    )
    return freeze_run(run, capabilities=path, facts=facts, grader_hash=grader, dispatched=dispatched)


def test_the_hash_to_give_is_that_of_the_file(run):
    """And with it the run may be sent."""
    frozen = freeze(run)
    assert hashlib.sha256((run / FREEZE_FILE).read_bytes()).hexdigest() == frozen.freeze_hash
    assert frozen == require_frozen(run, frozen.freeze_hash)


def test_what_is_recorded(run):
    """Model, endpoint, commit, state, versions, smallest effect, and every frozen file."""
    document = freeze(run).document
    assert ("gpt-5.6-terra", "gpt-5.6-terra-2026-09-01") == (document["model_requested"], document["model_returned"])
    assert ("c0ffee", True, "d" * 64) == (document["git_commit"], document["dirty"], document["diff_sha256"])
    assert (4.25, "variances of runs/pilot") == (document["mde_pp"], document["mde_source"])
    assert "https://api.openai.com/v1" == document["endpoint"]
    assert list(FROZEN_FILES) == list(document["files"])


def test_the_preregistration_can_be_read_alone(run, golden):
    """Question, design, analysis, rules, size, grids tried; hashes are replaced here for the comparison."""
    freeze(run)
    text = (run / "preregistration.md").read_text(encoding="utf-8")
    golden("plan/preregistration.md", _without_hashes(text))


def _without_hashes(text):
    import re

    return re.sub(r"\b[0-9a-f]{64}\b", "HASH", text)


def test_data_and_texts_are_listed_with_their_hashes(run):
    """dataset-manifest.json and prompt-template-hashes.json."""
    freeze(run)
    data = json.loads((run / "dataset-manifest.json").read_bytes())
    texts = json.loads((run / "prompt-template-hashes.json").read_bytes())
    manifest = json.loads((run / "manifest.json").read_bytes())
    assert {"sha256": manifest["files"]["gold.jsonl"], "rows": 8} == data["files"]["gold.jsonl"]
    assert ["scope_lookup"] == list(texts["templates"])
    assert 5 == len(texts["notations"])


@pytest.mark.parametrize("name", FROZEN_FILES)
def test_one_changed_byte_is_refused_by_name(run, name):
    """In any frozen file; verification names it too."""
    frozen = freeze(run)
    data = bytearray((run / name).read_bytes())
    data[len(data) // 2] ^= 1
    (run / name).write_bytes(data)
    assert [name] == frozen_changes(run)
    with pytest.raises(PlanError, match=f"{name}: not the file that was frozen"):
        require_frozen(run, frozen.freeze_hash)


def test_verification_names_a_changed_preregistration(run):
    """Which no other check would look at."""
    freeze(run)
    assert [] == verify_run(run, grader_hash=GRADER)
    (run / "preregistration.md").write_text("we expected this all along\n", encoding="utf-8")
    assert ["preregistration.md: not the file that was frozen"] == verify_run(run, grader_hash=GRADER)


@pytest.mark.parametrize("given", [None, "", "e" * 64])
def test_another_hash_is_refused(run, given):
    """None, an empty one, a wrong one."""
    freeze(run)
    with pytest.raises(PlanError, match="--protocol-hash: expected the hash that freeze printed"):
        require_frozen(run, given)


def test_an_unfrozen_run_is_refused(run):
    """With the remedy."""
    with pytest.raises(PlanError, match="the run is not frozen; run `locality freeze"):
        require_frozen(run, "e" * 64)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_freeze_that_is_none_is_refused(run, text):
    """Empty, broken, another value, keys missing."""
    (run / FREEZE_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match="not a freeze"):
        read_freeze(run)


def test_a_second_freeze_is_refused(run):
    """Even an equal one."""
    freeze(run)
    with pytest.raises(PlanError, match="the run is frozen already"):
        freeze(run)


def test_a_run_that_was_begun_is_refused(run):
    """Decisions come before answers."""
    with pytest.raises(PlanError, match="trials of this run were sent already"):
        freeze(run, dispatched=True)
    assert not (run / FREEZE_FILE).exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_requested": "other"}, "model_requested: the plan has gpt-5.6-terra, the preflight other"),
        ({"reasoning_effort": "high"}, "reasoning_effort: the plan has low, the preflight high"),
        ({"base_url": "https://example.org/v1"}, "base_url: the plan has https://api.openai.com/v1, the preflight"),
        ({"errors": ["401"]}, "the preflight ended with errors"),
    ],
)
def test_capabilities_of_something_else_are_refused(run, change, message):
    """Another model, effort or endpoint, or a probe that failed."""
    with pytest.raises(PlanError, match=message):
        freeze(run, **change)
    assert not (run / FREEZE_FILE).exists()


def test_capabilities_that_cannot_be_read_are_refused(run, tmp_path):
    """Missing, or no object."""
    facts = FreezeFacts("2026-12-01", None, False, None, {}, SmallestEffect(None, "no pilot"))
    path = tmp_path / "none.json"
    with pytest.raises(PlanError, match="cannot be read; make it with `locality preflight"):
        freeze_run(run, capabilities=path, facts=facts, grader_hash=GRADER, dispatched=False)
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(PlanError, match="expected what `locality preflight` wrote"):
        freeze_run(run, capabilities=path, facts=facts, grader_hash=GRADER, dispatched=False)


def test_mock_capabilities_freeze_for_the_mock_only(run):
    """Whatever endpoint they name."""
    assert freeze(run, synthetic_mock=True, base_url="https://mock.invalid/v1").synthetic_mock


def test_an_edited_file_or_another_grader_cannot_be_frozen(run):
    """Each by name."""
    with pytest.raises(PlanError, match="another grader"):
        freeze(run, grader="e" * 64)
    (run / "gold.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(PlanError, match=r"gold\.jsonl: not the file that was planned"):
        freeze(run)


def test_a_plan_without_an_audit_cannot_be_frozen(run):
    """The audit is one of the frozen files."""
    (run / "audit.json").unlink()
    with pytest.raises(PlanError, match="expected a passed audit"):
        freeze(run)


def test_the_grids_that_were_tried_are_the_plans_that_lie_there(run):
    """By folder, with whether anything was sent; folders that hold no plan are passed over."""
    (run.parent / "empty").mkdir()
    plan_into(run.parent / "a-smoke", "smoke", "p0")
    (run.parent / "a-smoke" / "usage-ledger.jsonl").write_text("", encoding="utf-8")
    found = tried_grids(run.parent)
    assert [("a-smoke", True, 20), ("tiny", False, 40)] == [(grid.folder, grid.begun, grid.trials) for grid in found]
    assert {"depths": [2], "fillers": [1], "seeds_per_cell": 2} == found[1].grids["reading"]
    assert [] == tried_grids(run.parent / "nowhere")
