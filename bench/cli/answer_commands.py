"""Commands for looking at answers: show, diff, export. Files in, text or files out; nothing is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bench.cli import options

Trial = Annotated[str, typer.Argument(metavar="TRIAL", help="The trial's id, or enough of its beginning.")]
Finished = Annotated[Path, typer.Argument(metavar="RUN", parser=options.run_dir, help="A finished run directory.")]


def register(app: typer.Typer) -> None:
    """Nothing; ``app`` then has these commands."""
    app.command("show")(show)
    app.command("diff")(diff)
    app.command("export")(export)


def show(trial: Trial, *, run: options.Run) -> int:
    """Show one trial: prompt, answer, right answer and diagnosis, side by side with its sibling notations.

    Refused for a confirmatory run whose stop rule is not met.

    Example: locality show 3f2a9c --run runs/smoke-offline
    """
    from bench.report.show import show_trial  # noqa: PLC0415  (heavy)

    typer.echo(show_trial(run, trial))
    return 0


def diff(
    left: Finished,
    right: Finished,
    *,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Also write every pair, one a row.")] = None,
) -> int:
    """Compare two finished runs pair by pair (same case, notation, replicate), and say how their protocols differ.

    For runs about the same families: the same plan twice, or presets with families_of. Makes no test.
    """
    from bench.report.run_diff import diff_lines, diff_runs, pairs_csv  # noqa: PLC0415  (heavy)

    found = diff_runs(left, right)
    for line in diff_lines(found):
        typer.echo(line)
    if csv is not None:
        csv.write_text(pairs_csv(found), encoding="utf-8", newline="\n")
        typer.echo(f"written: {csv}")
    return 0


def export(
    *,
    run: options.Run,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where the files go; default: export/ in the run.")
    ] = None,
) -> int:
    """Write one tidy table, a row per planned trial, with its data dictionary: CSV, and Parquet if pyarrow is there.

    Refused for a confirmatory run whose stop rule is not met.
    """
    from bench.report.export import NO_PARQUET, export_run  # noqa: PLC0415  (heavy)

    written = export_run(run, out or run / "export")
    typer.echo(f"{written.rows} trials: {written.csv}")
    typer.echo(f"dictionary: {written.dictionary}")
    typer.echo(f"Parquet: {written.parquet}" if written.parquet else NO_PARQUET)
    return 0
