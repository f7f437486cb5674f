"""Plans for tests: small presets as values, written into a folder the caller gives. Nothing here judges."""

import hashlib
import json
from pathlib import Path

from bench.plan.config import PresetConfig, load_preset
from bench.plan.manifest import HASHED_FILES, MANIFEST_FILE, PROTOCOL_FILE
from bench.plan.planner import PlanSummary, write_plan
from bench.wire.hashing import hash_document, hash_file

GRADER = hashlib.sha256(b"the graders of a test").hexdigest()
CREATED_AT = "2026-11-30T12:00:00+00:00"


def tiny_preset(**changes: object) -> PresetConfig:
    """Two families of depth 2 for each task group, all tasks, both regimes and views: 20 cases, 100 trials."""
    document = {
        "name": "tiny",
        "master_seed": "7",
        "tasks": ["scope_lookup", "active_stack", "ast_to_source"],
        "include_before_close": True,
        "lexical": ["natural", "nonce"],
        "reading": {"depths": [2], "fillers": [1], "seeds_per_cell": 2},
        "writing": {"depths": [2], "fillers": [1], "seeds_per_cell": 2},
    }
    return PresetConfig.model_validate({**document, **changes})


def plan_into(out: Path, preset: PresetConfig | str, phase: str = "p1", *, grader: str = GRADER) -> PlanSummary:
    """A plan of ``preset`` (its name or its value) in ``out``, for the preset's own model."""
    config = load_preset(preset) if isinstance(preset, str) else preset
    return write_plan(config, phase=phase, model=config.model, out=out, grader_hash=grader, created_at=CREATED_AT)


def read_rows(run_dir: Path, name: str) -> list[dict]:
    """The rows of a JSON-lines file."""
    return [json.loads(line) for line in (run_dir / name).read_text(encoding="utf-8").splitlines()]


def write_rows(run_dir: Path, name: str, rows: list[dict]) -> None:
    """Write rows as the planner does, then make the manifest agree with all files again."""
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    (run_dir / name).write_text(text, encoding="utf-8")
    reseal(run_dir)


def reseal(run_dir: Path) -> None:
    """Make ``manifest.json`` agree with the files as they are, so that only an audit can see what was done to them."""
    path = run_dir / MANIFEST_FILE
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["files"] = {name: hash_file(run_dir / name) for name in HASHED_FILES}
    manifest["protocol_hash"] = hash_document(json.loads((run_dir / PROTOCOL_FILE).read_bytes()))
    path.write_text(json.dumps(manifest), encoding="utf-8")
