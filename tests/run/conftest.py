"""A smoke run that is planned once and copied for each test."""

import shutil
from pathlib import Path

import pytest

from bench.plan.config import load_preset
from bench.plan.planner import write_plan


def plan_smoke(out: Path, base_url: str) -> Path:
    """Plan a smoke run for an endpoint."""
    config = load_preset("smoke")
    write_plan(
        config,
        phase="p0",
        model=config.model.model_copy(update={"base_url": base_url}),
        out=out,
        grader_hash="0" * 64,
        created_at="2026-11-30T00:00:00Z",
    )
    return out


@pytest.fixture(scope="session")
def planned_smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan files of a smoke run; not to be written to."""
    return plan_smoke(tmp_path_factory.mktemp("plan") / "run", "http://127.0.0.1:9/v1")


@pytest.fixture
def run_dir(planned_smoke: Path, tmp_path: Path) -> Path:
    """A fresh copy of the planned smoke run."""
    return Path(shutil.copytree(planned_smoke, tmp_path / "run"))
