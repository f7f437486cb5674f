"""Derives a plan again from its own protocol and says which file is not what the protocol says.

Anyone can check a published run with this: it needs the run directory and this version of the project, no network.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.plan.errors import ConfigError, PlanError
from bench.plan.freeze import frozen_changes
from bench.plan.manifest import HASHED_FILES, MANIFEST_FILE, read_manifest
from bench.plan.plan_files import Plan
from bench.plan.planner import write_plan
from bench.plan.run_files import AUDIT_FILE
from bench.wire.hashing import hash_file

if TYPE_CHECKING:
    from bench.plan.manifest import Manifest


def verify_run(run_dir: Path, *, grader_hash: str) -> list[str]:
    """One line for each thing that differs; empty if the run is what its protocol says.

    Raises:
        PlanError: if there is no plan at all in ``run_dir``.
    """
    manifest, manifest_hash = read_manifest(run_dir)
    differences = [f"{name}: {_state(run_dir, name)}" for name in _changed(run_dir, manifest)]
    if not differences:
        differences += _derived_differences(run_dir, manifest, grader_hash)
    differences += _audit_differences(run_dir, manifest_hash)
    return differences + [f"{name}: not the file that was frozen" for name in frozen_changes(run_dir)]


def _changed(run_dir: Path, manifest: Manifest) -> list[str]:
    return [name for name in HASHED_FILES if _hash(run_dir / name) != manifest.files[name]]


def _hash(path: Path) -> str | None:
    return hash_file(path) if path.is_file() else None


def _state(run_dir: Path, name: str) -> str:
    return f"not the file that {MANIFEST_FILE} lists" if (run_dir / name).is_file() else "missing"


def _derived_differences(run_dir: Path, manifest: Manifest, grader_hash: str) -> list[str]:
    """Plan again what the protocol holds, in a temporary folder, and compare every file."""
    try:
        plan = Plan.open(run_dir)
        plan.verify_code(grader_hash)
        protocol = plan.typed_protocol
        with tempfile.TemporaryDirectory(prefix="locality-verify-") as folder:
            again = Path(folder) / "plan"
            write_plan(
                protocol.preset_config(),
                phase=protocol.phase,
                model=plan.model,
                out=again,
                grader_hash=grader_hash,
                created_at=manifest.created_at,
            )
            derived, _ = read_manifest(again)
    except (PlanError, ConfigError) as error:
        return [str(error)]
    return [
        f"{name}: not what {HASHED_FILES[0]} gives when it is planned again"
        for name in HASHED_FILES
        if derived.files[name] != manifest.files[name]
    ]


def _audit_differences(run_dir: Path, manifest_hash: str) -> list[str]:
    path = run_dir / AUDIT_FILE
    if not path.is_file():
        return []
    try:
        made_for = json.loads(path.read_bytes())["manifest_hash"]
    except (ValueError, KeyError, TypeError):
        return [f"{AUDIT_FILE}: not an audit"]
    return [] if made_for == manifest_hash else [f"{AUDIT_FILE}: made for another {MANIFEST_FILE}"]
