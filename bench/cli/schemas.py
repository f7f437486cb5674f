"""The JSON Schemas of a run's files, from the very types that read and write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from bench.audit.findings import AuditRow
from bench.data.gold_row import GoldRow
from bench.plan.config import PresetConfig
from bench.plan.manifest import Manifest
from bench.plan.protocol import Protocol
from bench.plan.records import ScheduleRow
from bench.run.ledger_records import Record
from bench.run.records import TerminalRecord
from bench.score.scores import ScoreRow

if TYPE_CHECKING:
    from collections.abc import Mapping

FILES: Mapping[str, Any] = {
    "preset": PresetConfig,
    "protocol.json": Protocol,
    "manifest.json": Manifest,
    "schedule.jsonl": ScheduleRow,
    "gold.jsonl": GoldRow,
    "audit.json": AuditRow,
    "usage-ledger.jsonl": Record,
    "terminal.json": TerminalRecord,
    "scores.jsonl": ScoreRow,
}


def file_schemas() -> dict[str, dict[str, Any]]:
    """A JSON Schema (2020-12) for each kind of file; of a JSON-lines file, for one row."""
    return {name: TypeAdapter(kind).json_schema() for name, kind in FILES.items()}
