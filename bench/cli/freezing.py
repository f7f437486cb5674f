"""Gathers what a freeze records of this day and machine, and freezes. The rules are in ``bench.plan.freeze``."""

from __future__ import annotations

import platform
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import bench
from bench.audit import require_audit
from bench.plan.freeze import freeze_run
from bench.plan.freeze_facts import FreezeFacts, SmallestEffect
from bench.plan.plan_files import Plan
from bench.plan.tried_grids import tried_grids
from bench.run.clock import SystemClock
from bench.run.states import anything_dispatched
from bench.score.fingerprint import grader_hash
from bench.score.trials import load_trials
from bench.stats.forecast import power_report
from bench.stats.power import mde_from_discordance_pp
from bench.wire.hashing import sha256_hex

if TYPE_CHECKING:
    from bench.plan.config import Grid
    from bench.plan.freeze import Frozen

# every installed package that can change a number, a prompt or what is sent
PACKAGES = (
    "syntax-locality-icl",
    "httpcore",
    "httpx",
    "matplotlib",
    "numpy",
    "pandas",
    "portalocker",
    "pydantic",
    "pytest",
    "pytest-xdist",
    "rfc8785",
    "scipy",
)
ASSUMED_DISCORDANCE = 0.2


@dataclass(frozen=True, slots=True)
class GitState:
    """The checkout: its commit, whether anything differs from it, and a hash of what does. None: no git checkout."""

    commit: str | None
    dirty: bool = False
    diff_sha256: str | None = None


def freeze_plan(run_dir: Path, capabilities: Path, *, pilot: Path | None) -> Frozen:
    """The freeze of ``run_dir``, written.

    Raises:
        PlanError: as `freeze_run`, and for a missing or failed audit.
        PowerError: the pilot has too little to forecast from.
    """
    require_audit(run_dir)
    plan = Plan.open(run_dir)
    git = git_state(Path(bench.__file__).resolve().parents[1])
    facts = FreezeFacts(
        date=SystemClock().utc_now().isoformat(timespec="seconds"),
        git_commit=git.commit,
        dirty=git.dirty,
        diff_sha256=git.diff_sha256,
        versions={"python": platform.python_version(), **_versions()},
        effect=smallest_effect(plan.typed_protocol.preset_config().reading, pilot),
        tried_grids=tried_grids(run_dir.resolve().parent),
    )
    return freeze_run(
        run_dir,
        capabilities=capabilities,
        facts=facts,
        grader_hash=grader_hash(),
        dispatched=anything_dispatched(run_dir),
    )


def smallest_effect(grid: Grid | None, pilot: Path | None) -> SmallestEffect:
    """The smallest difference the grid detects: by the pilot's variances, or by a textbook formula without one."""
    if grid is None:
        return SmallestEffect(None, "the preset has no grid of reading families")
    cells = len(grid.depths) * len(grid.fillers)
    if pilot is None:
        effect = mde_from_discordance_pp(ASSUMED_DISCORDANCE, families=cells * grid.seeds_per_cell)
        assumed = f"{ASSUMED_DISCORDANCE:.0%} discordant pairs and a correlation of 0.3 between regimes assumed"
        return SmallestEffect(round(effect, 2), f"no pilot given: textbook formula, {assumed}")
    forecast = power_report(
        load_trials(pilot),
        Plan.open(pilot, verify=False).protocol,
        cells=cells,
        families_per_cell=(grid.seeds_per_cell,),
        wanted_pp=(),
    )
    return SmallestEffect(forecast.sizes[0].mde_pp, f"simulation from the variances of the pilot {pilot.name}")


def git_state(root: Path) -> GitState:
    """The state of the checkout at ``root``."""
    head = _git(root, "rev-parse", "HEAD")
    if head is None:
        return GitState(None)
    changes = (_git(root, "status", "--porcelain") or b"") + (_git(root, "diff", "HEAD", "--binary") or b"")
    return GitState(head.decode().strip(), bool(changes), sha256_hex(changes) if changes else None)


def _git(root: Path, *arguments: str) -> bytes | None:
    """What git prints; None where there is no git or no repository."""
    try:
        return subprocess.run(  # noqa: S603  (fixed arguments)
            ["git", "-C", str(root), *arguments],  # noqa: S607  (the user's git, found as the shell would)
            check=True,
            capture_output=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
