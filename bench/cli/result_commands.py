"""Commands over finished trials: score, report. Files in, files out; nothing is sent."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from bench.cli import options  # noqa: TC001  (typer reads the annotations)


def register(app: typer.Typer) -> None:
    """Nothing; ``app`` then has these commands."""
    app.command("score")(score)
    app.command("report")(report)


def score(*, run: options.Run) -> int:
    """Grade every answer of a run; writes scores.jsonl, one row per planned trial. Sends nothing, can be repeated.

    Refused for a confirmatory run whose stop rule is not met: no interim looks.
    """
    from bench.score.scores import score_run  # noqa: PLC0415  (heavy)

    outcomes = Counter(str(row.outcome) for row in score_run(run))
    for outcome, count in sorted(outcomes.items(), key=lambda item: -item[1]):
        typer.echo(f"{count:6d}  {outcome}")
    typer.echo(f"written: {run / 'scores.jsonl'}")
    return 0


def report(
    *,
    run: options.Run,
    unblind: Annotated[
        bool,
        typer.Option(
            "--unblind",
            help="Show a confirmatory run before its stop rule is met. Recorded, and quoted by every later report.",
        ),
    ] = False,
) -> int:
    """Score, analyse and write the report: report.md, report.html, analysis.json, CSV files, figures. Sends nothing."""
    from bench.report import summary_table, write_report  # noqa: PLC0415  (heavy)
    from bench.score.blinding import is_blinded  # noqa: PLC0415
    from bench.score.scores import score_run  # noqa: PLC0415

    if unblind or not is_blinded(run):
        score_run(run)
    paths = write_report(run, unblind=unblind)
    typer.echo(summary_table(run))
    typer.echo(f"written: {paths.report_md}")
    return 0
