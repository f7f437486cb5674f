"""A plan made and audited for a backend: what the command line and the pytest plugin both need.

Which model is planned for is decided here; writing, auditing and grading are where they belong.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.audit import audit_run, require_audit
from bench.backends.local_spec import local_settings
from bench.backends.local_weights import find_weights
from bench.plan.model_settings import resolve_model
from bench.plan.planner import write_plan
from bench.run.clock import SystemClock
from bench.score.fingerprint import grader_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.plan.config import ModelSettings, Phase, PresetConfig
    from bench.plan.planner import PlanSummary
    from bench.run.clock import Clock

PACKAGED = "embedded"


def model_settings(
    config: PresetConfig, *, local: str | None, env: Mapping[str, str], model: str | None = None
) -> ModelSettings:
    """The settings to plan with: of the local model if ``local`` is its file or ``embedded``, else as `resolve_model`.

    Raises:
        ConfigError: a model name or base URL that is none.
        LocalModelError: the local model cannot be used.
    """
    if local is None:
        return resolve_model(config, model=model, environment=env)
    return local_settings(find_weights(None if local == PACKAGED else Path(local)))


def plan_run(
    config: PresetConfig, *, phase: Phase, model: ModelSettings, out: Path, clock: Clock | None = None
) -> PlanSummary:
    """What was planned into ``out``, for the graders of this version.

    Raises:
        ConfigError, PlanError: as `write_plan`.
    """
    now = (clock or SystemClock()).utc_now().isoformat(timespec="seconds")
    return write_plan(config, phase=phase, model=model, out=out, grader_hash=grader_hash(), created_at=now)


def plan_and_audit(config: PresetConfig, *, phase: Phase, model: ModelSettings, out: Path) -> str:
    """The protocol hash of a plan written into ``out`` and found sound.

    Raises:
        ConfigError, PlanError: as `write_plan`, and for a plan that fails its audit.
    """
    summary = plan_run(config, phase=phase, model=model, out=out)
    audit_run(out)
    require_audit(out)
    return summary.protocol_hash
