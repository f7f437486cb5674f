"""Which run directory an evaluation works in: the one it is given, or one planned now, or one planned before.

An implicit plan is written beside its place and renamed into it, so that a plan is there whole or not at all.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.backends.planning import model_settings, plan_and_audit
from bench.plan.config import CONFIG_DIR, PresetConfig, load_preset
from bench.plan.planner import plan_name
from bench.plugin.expression import asserted

if TYPE_CHECKING:
    from bench.plan.config import Phase
    from bench.plugin.expression import Expression
    from bench.plugin.options import Backend

RUNS = "runs"
DEFAULT_PRESET = "smoke"


def resolve_run(config: pytest.Config, backend: Backend, *, marker: Expression | None) -> Path:
    """Return the run directory, planned if need be. A plan made only to list items is gone after the session.

    Raises:
        pytest.UsageError: two presets asked for, a confirmatory preset without ``--run``, options that exclude each
            other.
        bench.plan.errors.ConfigError, PlanError: the preset or its plan is not usable.
    """
    words = asserted(marker) if marker is not None else frozenset()
    if (run := config.getoption("run")) is not None:
        if config.getoption("preset") or config.getoption("phase"):
            raise pytest.UsageError("--run names a plan that exists: --preset and --phase have no say in it")
        return Path(config.invocation_params.dir, run)
    preset = load_preset(preset_name(config.getoption("preset"), words))
    if preset.confirmatory:
        raise pytest.UsageError(
            f"preset {preset.name} is confirmatory and never planned in passing: "
            f"locality plan --preset {preset.name} --out DIR, locality freeze --run DIR --capabilities FILE, "
            "then --run DIR"
        )
    phase: Phase = config.getoption("phase") or ("p0" if "p0" in words else "p1")
    return _planned(config, backend, preset=preset, phase=phase)


def preset_name(option: str | None, words: frozenset[str]) -> str:
    """The one preset that ``--preset`` and the un-negated words of ``-m`` agree on; smoke if they name none."""
    known = {path.stem for path in CONFIG_DIR.glob("*.json")} - {"local"}
    named = sorted({option, *(words & known)} - {None}, key=str)
    if len(named) > 1:
        raise pytest.UsageError(
            f"two presets at once ({' and '.join(map(str, named))}): ask for one, by --preset or -m"
        )
    return str(named[0]) if named else DEFAULT_PRESET


def _planned(config: pytest.Config, backend: Backend, *, preset: PresetConfig, phase: Phase) -> Path:
    model = model_settings(preset, local=backend.detail if backend.kind == "local" else None, env=os.environ)
    listing = config.getoption("collectonly")
    runs = Path(tempfile.gettempdir()) if listing else config.rootpath / RUNS
    runs.mkdir(exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".plan-", dir=runs))
    config.add_cleanup(lambda: shutil.rmtree(fresh, ignore_errors=True))
    protocol_hash = plan_and_audit(preset, phase=phase, model=model, out=fresh)
    place = config.rootpath / RUNS / plan_name(preset.name, phase, backend.name, protocol_hash)
    if place.is_dir():
        return place
    if listing:
        return fresh
    fresh.chmod(0o755)  # mkdtemp's 0700 is for secrets; a run is to be read
    try:
        fresh.rename(place)
    except OSError:
        if not place.is_dir():
            raise
    return place
