"""Writes a run's report and everything beside it, from the files of the run alone.

The one place here that touches the disk for writing. Whatever it writes can be deleted and comes back the same.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.report.blinded import blind_pilot_view, blinded_report
from bench.report.compose import compose
from bench.report.csv_files import csv_text, errors_csv, paired_csv, summary_csv
from bench.report.html import render_html
from bench.report.load import load_run
from bench.report.markdown import render_markdown
from bench.run.events import append_event, read_events
from bench.score.blinding import is_blinded
from bench.stats.denominators import counts
from bench.stats.document import analysis_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bench.report.run_data import RunData

UNBLINDED = "report_unblinded"
PILOT_VIEWED = "pilot_report_viewed"


@dataclass(frozen=True, slots=True)
class ReportPaths:
    """What was written; empty and None where a blinded report leaves it out."""

    report_md: Path
    report_html: Path
    analysis_json: Path | None = None
    csv_files: tuple[Path, ...] = ()
    figures: Path | None = None


def write_report(run_dir: Path, *, blind: bool = False, unblind: bool = False) -> ReportPaths:
    """The paths of the report that was written.

    A confirmatory run whose stop rule is not met gets a blinded report, unless ``unblind`` lifts the blind for good
    (an event says so, and every later report quotes it). ``blind`` writes the view for choosing difficulty, beside
    the report and under its own name.

    Raises:
        PlanError: if the folder holds no readable plan.
        RunFileError: if a record of a trial cannot be read.
    """
    blinded = is_blinded(run_dir)
    if blinded and (blind or not unblind):  # even unlabelled notations would show how far apart they are
        return _write_blinded(run_dir)
    if blind:
        return _write_blind_view(run_dir)
    return _write_whole(note_viewing(load_run(run_dir), kind=UNBLINDED if blinded else PILOT_VIEWED))


def note_viewing(data: RunData, *, kind: str) -> RunData:
    """The same data, after an event notes that notations are about to be seen by name.

    Of a confirmatory run before its stop rule is met, or of a pilot; once for each number of terminal trials, for a
    report that is written again shows nothing new.
    """
    done = sum(trial.terminal for trial in data.trials)
    noted = any(event.get("kind") == kind and event.get("terminal") == done for event in data.events)
    if noted or not done or (data.conditions.confirmatory and kind == PILOT_VIEWED):
        return data
    append_event(data.run_dir, kind, terminal=done, planned=len(data.trials))
    return replace(data, events=read_events(data.run_dir))


def _write_blind_view(run_dir: Path) -> ReportPaths:
    data = load_run(run_dir)
    document = blind_pilot_view(data, order_seed=data.conditions.bootstrap_seed)
    paths = ReportPaths(run_dir / "report-blind.md", run_dir / "report-blind.html")
    _write(paths.report_md, render_markdown(document))
    _write(paths.report_html, render_html(document, {}))
    return paths


def _write_blinded(run_dir: Path) -> ReportPaths:
    data = load_run(run_dir)
    document = blinded_report(data)
    paths = ReportPaths(run_dir / "report.md", run_dir / "report.html", run_dir / "analysis.json")
    _write(run_dir / "analysis.json", _json_text(blinded_json(data)))
    _write(paths.report_md, render_markdown(document))
    _write(paths.report_html, render_html(document, {}))
    return paths


def blinded_json(data: RunData) -> dict[str, object]:
    """``analysis.json`` of a blinded run: the same top-level names, nothing by notation."""
    found = counts(data.trials)
    tokens = [trial.total_tokens for trial in data.trials if trial.total_tokens is not None]
    return {
        "primary": None,
        "contrasts": [],
        "blinded": True,
        "state": {
            "provisional": data.analysis.state.provisional,
            "stop_rule_met": data.analysis.state.stop_rule_met,
            "synthetic": data.analysis.state.synthetic,
            "planned": found.planned,
            "terminal": found.terminal,
            "evaluable": found.evaluable,
            "infrastructure_missing": found.infrastructure_missing,
            "not_dispatched": found.not_dispatched,
            "pooled_correct": found.correct,
            "pooled_accuracy_share": found.accuracy,
            "total_tokens_sum": sum(tokens) if tokens else None,
        },
    }


def _write_whole(data: RunData) -> ReportPaths:
    from bench.report.figure_data import figure_data  # noqa: PLC0415  matplotlib is for whole reports only
    from bench.report.figures import draw_svg  # noqa: PLC0415

    run_dir = data.run_dir
    figures = run_dir / "figures"
    figures.mkdir(exist_ok=True)
    drawings: dict[str, str] = {}
    for figure in figure_data(data):
        drawings[figure.name] = draw_svg(figure.drawing, name=figure.name)
        _write(figures / f"{figure.name}.svg", drawings[figure.name])
        _write(figures / f"{figure.name}.csv", csv_text(figure.header, figure.rows))
    tables = {"summary.csv": summary_csv, "paired-comparisons.csv": paired_csv, "errors.csv": errors_csv}
    for name, make in tables.items():
        _write(run_dir / name, make(data))
    _write(run_dir / "analysis.json", _json_text(analysis_json(data.analysis)))
    document = compose(data)
    _write(run_dir / "report.md", render_markdown(document))
    _write(run_dir / "report.html", render_html(document, drawings))
    return ReportPaths(
        report_md=run_dir / "report.md",
        report_html=run_dir / "report.html",
        analysis_json=run_dir / "analysis.json",
        csv_files=tuple(run_dir / name for name in tables),
        figures=figures,
    )


def _json_text(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a reader never sees half a report."""
    neighbour = path.with_name(f".{path.name}.new")
    neighbour.write_text(text, encoding="utf-8", newline="\n")
    neighbour.replace(path)
