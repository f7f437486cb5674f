"""``manifest.json``: the plan files with their hashes, and the one time in a plan. Also the files' names.

Reading and writing of this one file; what the others hold is in `plan_files` and `planner`.
"""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  # pydantic reads annotations of methods' neighbours at run time
from typing import Literal

from pydantic import Field, ValidationError

from bench.plan.config import Strict
from bench.plan.errors import PlanError
from bench.wire.hashing import hash_file, sha256_hex

MANIFEST_FILE = "manifest.json"
PROTOCOL_FILE = "protocol.json"
FAMILIES_FILE = "families.jsonl"
CASES_FILE = "cases.jsonl"
GOLD_FILE = "gold.jsonl"
SCHEDULE_FILE = "schedule.jsonl"
HASHED_FILES = (PROTOCOL_FILE, FAMILIES_FILE, CASES_FILE, GOLD_FILE, SCHEDULE_FILE)

SCHEMA: Literal["syntax-locality-icl/manifest/1"] = "syntax-locality-icl/manifest/1"


class Manifest(Strict):
    """What a plan consists of. ``created_at`` is UTC, ISO 8601; every other field repeats for the same config."""

    schema_: Literal["syntax-locality-icl/manifest/1"] = Field(alias="schema")
    created_at: str
    package_version: str
    protocol_hash: str
    files: dict[str, str]


def manifest_document(run_dir: Path, *, created_at: str, package_version: str, protocol_hash: str) -> dict[str, object]:
    """The manifest of the plan files that stand in ``run_dir``."""
    return {
        "schema": SCHEMA,
        "created_at": created_at,
        "package_version": package_version,
        "protocol_hash": protocol_hash,
        "files": {name: hash_file(run_dir / name) for name in HASHED_FILES},
    }


def read_manifest(run_dir: Path) -> tuple[Manifest, str]:
    """The manifest of a run and the SHA-256 of its bytes.

    Raises:
        PlanError: if the folder holds no plan of this version.
    """
    path = run_dir / MANIFEST_FILE
    try:
        data = path.read_bytes()
    except OSError:
        raise PlanError(
            f"{run_dir}: no plan here ({MANIFEST_FILE} cannot be read); make one with `locality plan`"
        ) from None
    try:
        manifest = Manifest.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise PlanError(f"{path}: {where}: {first['msg']}; restore the file or make a new plan") from None
    if set(manifest.files) != set(HASHED_FILES):
        raise PlanError(f"{path}: files: expected {', '.join(HASHED_FILES)}; restore the file or make a new plan")
    return manifest, sha256_hex(data)


def first_changed_file(run_dir: Path, manifest: Manifest) -> str | None:
    """The first plan file whose bytes are not those of the manifest, or that is missing."""
    for name in HASHED_FILES:
        try:
            if hash_file(run_dir / name) != manifest.files[name]:
                return name
        except OSError:
            return name
    return None
