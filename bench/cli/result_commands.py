"""Commands over finished trials: score, report. Files in, files out; nothing is sent."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from bench.cli import options
from bench.cli.options import UsageError


def register(app: typer.Typer) -> None:
    """Nothing; ``app`` then has these commands."""
    app.command("score")(score)
    app.command("report")(report)
    app.command("power")(power)


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
    blind: Annotated[
        bool,
        typer.Option("--blind", help="Write only report-blind.md: no notation by name, for choosing the difficulty."),
    ] = False,
    unblind: Annotated[
        bool,
        typer.Option(
            "--unblind",
            help="Show a confirmatory run before its stop rule is met. Recorded, and quoted by every later report.",
        ),
    ] = False,
) -> int:
    """Score, analyse and write the report: report.md, report.html, analysis.json, CSV files, figures. Sends nothing.

    A confirmatory run whose stop rule is not met gets counts and one accuracy over all notations.
    """
    from bench.report import summary_table, write_report  # noqa: PLC0415  (heavy)
    from bench.score.blinding import is_blinded  # noqa: PLC0415
    from bench.score.scores import score_run  # noqa: PLC0415

    if blind and unblind:
        raise UsageError("--blind and --unblind exclude each other")
    paths = write_report(run, blind=blind, unblind=unblind)
    if not blind:
        if not is_blinded(run):
            score_run(run)
        typer.echo(summary_table(run))
    typer.echo(f"written: {paths.report_md}")
    return 0


def power(
    *,
    run: options.Run,
    families_per_cell: Annotated[
        list[int] | None,
        typer.Option("--families-per-cell", metavar="N", parser=options.positive, help="A size; can be repeated."),
    ] = None,
    wanted_pp: Annotated[
        list[int] | None,
        typer.Option("--wanted-pp", metavar="N", parser=options.positive, help="A difference; can be repeated."),
    ] = None,
) -> int:
    """Forecast from a pilot: what difference a larger run would detect (80 % power at 5 %), and what it would take.

    Requests, tokens and hours under the plan's rate limits; no prices. Sends nothing.
    """
    from bench.cli.forecasting import forecast_lines  # noqa: PLC0415  (heavy)

    for line in forecast_lines(run, tuple(families_per_cell or ()), wanted_pp=tuple(wanted_pp or ())):
        typer.echo(line)
    return 0
