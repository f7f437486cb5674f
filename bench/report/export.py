"""A run as one tidy table for other programs, with its dictionary: CSV, and Parquet where pyarrow is installed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bench.plan.plan_files import Plan
from bench.report.csv_files import csv_text
from bench.report.export_fields import FIELDS, ExportRow, dictionary_text
from bench.run.records_io import read_run_terminal
from bench.score.blinding import refuse_if_blinded
from bench.score.trials import load_trials

if TYPE_CHECKING:
    from pathlib import Path

CSV_NAME, PARQUET_NAME, DICTIONARY_NAME = "trials.csv", "trials.parquet", "data-dictionary.md"
NO_PARQUET = "no Parquet file: that needs pyarrow, pip install 'syntax-locality-icl[export]'"


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written; ``parquet`` None where pyarrow is not installed."""

    rows: int
    csv: Path
    dictionary: Path
    parquet: Path | None


def export_run(run_dir: Path, out: Path) -> Exported:
    """The files written into ``out``; the same run gives the same bytes of CSV.

    Raises:
        BlindedError: the run is confirmatory and not finished.
        PlanError, RunFileError, OSError: a file cannot be read or written.
    """
    refuse_if_blinded(run_dir)
    table = [tuple(field.value(row) for field in FIELDS) for row in export_rows(run_dir)]
    out.mkdir(parents=True, exist_ok=True)
    names = [field.name for field in FIELDS]
    (out / CSV_NAME).write_text(csv_text(names, table), encoding="utf-8", newline="\n")
    (out / DICTIONARY_NAME).write_text(dictionary_text(), encoding="utf-8", newline="\n")
    parquet = _write_parquet(out / PARQUET_NAME, table) if find_spec("pyarrow") else None
    return Exported(len(table), out / CSV_NAME, out / DICTIONARY_NAME, parquet)


def export_rows(run_dir: Path) -> list[ExportRow]:
    """One row per planned trial, in schedule order."""
    plan = Plan.open(run_dir, verify=False)
    return [
        ExportRow(
            trial=trial,
            protocol_hash=plan.protocol_hash,
            preset=plan.typed_protocol.preset,
            phase=plan.typed_protocol.phase,
            model=plan.model.model,
            effort=plan.model.reasoning_effort,
            prompt_characters=_characters(plan.measures(trial.row.case_id)[trial.row.syntax]),
            terminal=read_run_terminal(run_dir, trial.row.trial_id) if trial.terminal else None,
        )
        for trial in load_trials(run_dir)
    ]


def _characters(measured: dict[str, Any]) -> int:
    return sum(part["characters"] for part in measured["sizes"].values())


def _write_parquet(path: Path, table: list[tuple[object, ...]]) -> Path:
    arrow = import_module("pyarrow")  # an extra: by name, so that its absence is no error here
    types = {"text": arrow.string(), "integer": arrow.int64(), "number": arrow.float64(), "boolean": arrow.bool_()}
    columns = list(zip(*table, strict=True))
    schema = arrow.schema([(field.name, types[field.type]) for field in FIELDS])
    arrays = [arrow.array(column, type=kind) for column, kind in zip(columns, schema.types, strict=True)]
    import_module("pyarrow.parquet").write_table(arrow.Table.from_arrays(arrays, schema=schema), path)
    return path
