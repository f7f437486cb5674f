"""Runs on disk without any sending: a real plan, and terminal records that a test makes up."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from bench.llm.body import body_bytes, generation_body
from bench.plan.config import PresetConfig
from bench.plan.plan_files import Plan
from bench.plan.planner import write_plan
from bench.prompt.build import build_request
from bench.report import write_report
from bench.run.records import AttemptTiming, TerminalRecord, UsageRecord
from bench.score.fingerprint import grader_hash
from bench.score.inputs import Grader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.plan.records import ScheduleRow

TINY = {
    "name": "tiny",
    "master_seed": "7",
    "tasks": ["scope_lookup", "active_stack", "ast_to_source"],
    "reading": {"depths": [2, 8], "fillers": [0, 32], "seeds_per_cell": 2},
    "writing": {"depths": [2, 4], "fillers": [0], "seeds_per_cell": 2},
    "include_before_close": True,
    "lexical": ["natural", "nonce"],
}
ACCURACY = {"braces": 0.5, "generic_end": 0.4, "typed_end": 0.55, "named_end": 0.8, "padded_end": 0.5}


def plan_run(out: Path, *, phase: str = "p1", **changes: object) -> Plan:
    config = PresetConfig.model_validate({**TINY, **changes})
    made_at = "2026-01-02T03:04:05Z"
    write_plan(config, phase=phase, model=config.model, out=out, grader_hash=grader_hash(), created_at=made_at)
    return Plan.open(out)


def record(row: ScheduleRow, text: str | None, **changes: object) -> TerminalRecord:
    fields: dict[str, object] = {
        "trial_id": row.trial_id, "ending": "answered", "status": "completed", "text": text, "refusals": [],
        "incomplete_reason": None, "suspected_truncation": False, "response_id": "resp_1",
        "returned_model": "model-under-test", "request_id": None,
        "usage": UsageRecord(1000 + 10 * row.depth, 12, 1012 + 10 * row.depth, 100, None, 4),
        "counted_input_tokens": None, "error": None, "backend": "mock-planted", "synthetic_mock": True, "series": 1,
        "queue_s": 0.0, "count_s": 0.1, "attempts": [AttemptTiming(1, 1.5, 200)], "backoff_s": 0.0, "total_s": 1.6,
        "sent_at": "2026-01-02T04:00:00Z", "ended_at": "2026-01-02T04:00:02Z",
    }  # fmt: skip
    return TerminalRecord(**(fields | changes))


def store(run_dir: Path, terminal: TerminalRecord) -> None:
    folder = run_dir / "trials" / terminal.trial_id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "terminal.json").write_text(json.dumps(asdict(terminal)), encoding="utf-8")


def answer_all(plan: Plan, choose: Callable[[ScheduleRow, str], TerminalRecord | None]) -> None:
    """Stores what ``choose`` makes of each row and its right answer, and the request that would have been sent."""
    grader = Grader(plan.run_dir, plan=plan)
    for row in plan.schedule:
        terminal = choose(row, grader.expected(row))
        if terminal is not None:
            store(plan.run_dir, terminal)
            request = body_bytes(generation_body(build_request(plan, row)))
            (plan.run_dir / "trials" / row.trial_id / "request.json").write_bytes(request)


def planted(row: ScheduleRow, right: str, *, dice: random.Random) -> TerminalRecord:
    """Right with the notation's own probability; else wrong, refused or cut off."""
    if dice.random() < ACCURACY[row.syntax]:
        return record(row, right)
    kind = dice.randrange(8)
    if kind == 0:
        return record(row, None, ending="refusal", refusals=["I would rather not."])
    if kind == 1:
        return record(row, right[:2], ending="incomplete", status="incomplete", incomplete_reason="max_output_tokens")
    retried = [AttemptTiming(1, 0.2, 503, "server_error"), AttemptTiming(2, 1.0, 200)]
    return record(row, "1234", attempts=retried if kind == 2 else [AttemptTiming(1, 1.4, 200)])


@pytest.fixture(scope="session")
def planted_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete synthetic run of three tasks in which D is better than B; copy it before writing into it."""
    run_dir = tmp_path_factory.mktemp("planted") / "run"
    plan = plan_run(run_dir)
    dice = random.Random(11)
    answer_all(plan, lambda row, right: planted(row, right, dice=dice))
    return run_dir


@pytest.fixture
def planted_run(planted_template: Path, tmp_path: Path) -> Path:
    return shutil.copytree(planted_template, tmp_path / "run")


@pytest.fixture(scope="session")
def planted_report(planted_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted run with its report written; read only."""
    run_dir = shutil.copytree(planted_template, tmp_path_factory.mktemp("reported") / "run")
    write_report(run_dir)
    return run_dir


@pytest.fixture(scope="session")
def reading_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small plan of the main task alone, nothing sent; copy it before writing into it."""
    run_dir = tmp_path_factory.mktemp("reading") / "run"
    plan_run(run_dir, phase="p0", **READING)
    return run_dir


@pytest.fixture
def reading_run(reading_template: Path, tmp_path: Path) -> Plan:
    return Plan.open(shutil.copytree(reading_template, tmp_path / "run"))


READING = {
    "tasks": ["scope_lookup"],
    "reading": {"depths": [2], "fillers": [0, 8], "seeds_per_cell": 4},
    "writing": None,
    "include_before_close": False,
}
