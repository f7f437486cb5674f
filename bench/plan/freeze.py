"""Freezes a confirmatory plan: what was decided, on what, before the first answer (specification, section 7.6).

Facts about this machine, git and the smallest detectable effect come as values; nothing here runs a program or a test.
What ``--protocol-hash`` takes is the freeze hash, the SHA-256 of ``freeze.json``.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bench.data.generate import GENERATOR_VERSION
from bench.plan.errors import PlanError
from bench.plan.manifest import (
    CASES_FILE,
    FAMILIES_FILE,
    GOLD_FILE,
    HASHED_FILES,
    MANIFEST_FILE,
    SCHEDULE_FILE,
)
from bench.plan.plan_files import Plan
from bench.plan.preregistration import preregistration
from bench.plan.run_files import AUDIT_FILE, CAPABILITIES_FILE, FREEZE_FILE
from bench.prompt.episode import PROMPT_VERSION
from bench.wire.hashing import hash_file, sha256_hex

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bench.plan.freeze_facts import FreezeFacts

PREREGISTRATION_FILE = "preregistration.md"
DATASET_FILE = "dataset-manifest.json"
TEMPLATES_FILE = "prompt-template-hashes.json"
SCHEMA = "syntax-locality-icl/freeze/1"

WRITTEN_FILES = (CAPABILITIES_FILE, DATASET_FILE, TEMPLATES_FILE, PREREGISTRATION_FILE)
FROZEN_FILES = (MANIFEST_FILE, *HASHED_FILES, AUDIT_FILE, *WRITTEN_FILES)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A freeze: the hash to give with ``--protocol-hash``, and whether only a mock may run on it."""

    freeze_hash: str
    synthetic_mock: bool
    document: Mapping[str, Any]


def freeze_run(run_dir: Path, *, capabilities: Path, facts: FreezeFacts, grader_hash: str, dispatched: bool) -> Frozen:
    """The freeze written beside the plan in ``run_dir``.

    The caller has seen the audit pass; ``dispatched`` says whether anything of this run was ever sent.

    Raises:
        PlanError: if the run is frozen or begun, a file, text, generator or grader changed, there is no audit, or the
            capabilities are of another model, effort or endpoint.
    """
    if (run_dir / FREEZE_FILE).exists():
        raise PlanError(f"{run_dir / FREEZE_FILE}: the run is frozen already; make a new plan to change anything")
    if dispatched:
        raise PlanError(f"{run_dir}: trials of this run were sent already; make a new plan and freeze that")
    plan = Plan.open(run_dir)
    plan.verify_code(grader_hash)
    if not (run_dir / AUDIT_FILE).is_file():
        raise PlanError(f"{run_dir / AUDIT_FILE}: expected a passed audit; run `locality audit --run {run_dir}`")
    found = _read_capabilities(capabilities)
    _refuse_other_model(found, plan, capabilities)
    (run_dir / CAPABILITIES_FILE).write_bytes(capabilities.read_bytes())
    _write_json(run_dir / DATASET_FILE, _dataset_manifest(plan))
    _write_json(run_dir / TEMPLATES_FILE, _template_hashes(plan))
    (run_dir / PREREGISTRATION_FILE).write_text(preregistration(plan.protocol, facts), encoding="utf-8")
    _write_json(run_dir / FREEZE_FILE, _freeze_document(plan, facts, found))
    return read_freeze(run_dir)


def read_freeze(run_dir: Path) -> Frozen:
    """The freeze of a run.

    Raises:
        PlanError: if the run is not frozen, or its ``freeze.json`` is none.
    """
    path = run_dir / FREEZE_FILE
    try:
        data = path.read_bytes()
        document = json.loads(data)
        return Frozen(sha256_hex(data), bool(document["synthetic_mock"]), document)
    except OSError:
        raise PlanError(
            f"{path}: the run is not frozen; run `locality freeze --run {run_dir} --capabilities FILE`"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise PlanError(f"{path}: not a freeze; restore the file or make a new plan") from None


def require_frozen(run_dir: Path, freeze_hash: str | None) -> Frozen:
    """The freeze of a run that may be sent: the given hash is its hash and no frozen file has changed.

    Raises:
        PlanError: naming what is missing, wrong or changed.
    """
    frozen = read_freeze(run_dir)
    if freeze_hash != frozen.freeze_hash:
        given = "none" if freeze_hash is None else freeze_hash[:70]
        raise PlanError(f"--protocol-hash: expected the hash that freeze printed for {run_dir}, got {given}")
    changed = frozen_changes(run_dir)
    if changed:
        raise PlanError(f"{run_dir / changed[0]}: not the file that was frozen; restore it or make a new plan")
    return frozen


def frozen_changes(run_dir: Path) -> list[str]:
    """The frozen files that are missing or changed; empty if the run is not frozen."""
    if not (run_dir / FREEZE_FILE).is_file():
        return []
    listed = read_freeze(run_dir).document.get("files", {})
    return [name for name in FROZEN_FILES if _hash(run_dir / name) != listed.get(name)]


def _hash(path: Path) -> str | None:
    return hash_file(path) if path.is_file() else None


def _read_capabilities(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except OSError:
        raise PlanError(f"{path}: cannot be read; make it with `locality preflight --execute`") from None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise PlanError(f"{path}: expected what `locality preflight` wrote, got something else; run it again")
    return found


def _refuse_other_model(found: Mapping[str, Any], plan: Plan, path: Path) -> None:
    """Capabilities count only for the model, effort and endpoint that will be asked, and if the probe succeeded."""
    if found.get("errors"):
        raise PlanError(f"{path}: the preflight ended with errors; mend them and run `locality preflight` again")
    planned = plan.model
    expected = [("model_requested", planned.model), ("reasoning_effort", planned.reasoning_effort)]
    if not found.get("synthetic_mock"):
        expected.append(("base_url", planned.base_url))
    for key, value in expected:
        if key not in found or found[key] != value:
            came = str(found.get(key, "nothing"))[:80]
            raise PlanError(f"{path}: {key}: the plan has {value}, the preflight {came}; run preflight for this plan")


def _dataset_manifest(plan: Plan) -> dict[str, Any]:
    config = plan.typed_protocol.config
    names = (FAMILIES_FILE, CASES_FILE, GOLD_FILE, SCHEDULE_FILE)
    return {
        "preset": plan.typed_protocol.preset,
        "counts": plan.typed_protocol.counts.model_dump(),
        "generator_version": GENERATOR_VERSION,
        "generator": plan.typed_protocol.hashes.generator,
        "seeds": plan.typed_protocol.seeds,
        "grids": {group: config[group] for group in ("reading", "writing") if group in config},
        "files": {name: {"sha256": plan.manifest.files[name], "rows": _rows(plan.run_dir / name)} for name in names},
    }


def _rows(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _template_hashes(plan: Plan) -> dict[str, Any]:
    hashes = plan.typed_protocol.hashes
    return {
        "prompt_version": PROMPT_VERSION,
        "templates": hashes.templates,
        "notations": hashes.notations,
        "lexicons": hashes.lexicons,
    }


def _freeze_document(plan: Plan, facts: FreezeFacts, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "date": facts.date,
        "protocol_hash": plan.protocol_hash,
        "manifest_hash": plan.manifest_hash,
        "model_requested": plan.model.model,
        "model_returned": capabilities.get("model_returned"),
        "endpoint": plan.model.base_url,
        "synthetic_mock": bool(capabilities.get("synthetic_mock", False)),
        "git_commit": facts.git_commit,
        "dirty": facts.dirty,
        "diff_sha256": facts.diff_sha256,
        "versions": dict(sorted(facts.versions.items())),
        "mde_pp": facts.effect.mde_pp,
        "mde_source": facts.effect.source,
        "tried_grids": [asdict(grid) for grid in facts.tried_grids],
        "files": {name: hash_file(plan.run_dir / name) for name in FROZEN_FILES},
    }


def _write_json(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
