"""Commands that make, check and describe plans: plan, audit, verify, schema. Nothing here sends, but token counting."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bench.cli import options
from bench.cli.options import PhaseName, UsageError

if TYPE_CHECKING:
    from bench.plan.planner import PlanSummary

Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="A new or empty folder for the plan.")]
Phase = Annotated[
    PhaseName, typer.Option("--phase", metavar="p0|p1", help="p0: scope_lookup alone. p1: every task of the preset.")
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Default: OPENAI_MODEL, then the preset's, then gpt-5.6-terra."),
]
Counted = Annotated[
    Path | None,
    typer.Option("--run", metavar="DIR", parser=options.run_dir, help="With --count-tokens: a plan made before."),
]
CountTokens = Annotated[
    bool,
    typer.Option(
        "--count-tokens",
        help="Ask the endpoint for the input tokens of every prompt. That is HTTP: it needs --execute (or --mock, "
        "--local) and --max-http-attempts. Counted prompts are not asked about again.",
    ),
]


def register(app: typer.Typer) -> None:
    """Nothing; ``app`` then has these commands."""
    app.command("plan")(plan)
    app.command("audit")(audit)
    app.command("freeze")(freeze)
    app.command("verify")(verify)
    app.command("schema")(schema)


def plan(  # noqa: PLR0913  (each option is a parameter)
    *,
    preset: options.Preset = "smoke",
    phase: Phase = PhaseName.P1,
    out: Out = None,
    model: Model = None,
    local: options.Local = None,
    count_tokens: CountTokens = False,
    run: Counted = None,
    mock: options.Mock = None,
    execute: options.Execute = False,
    max_http_attempts: options.Attempts = None,
    max_rpm: options.MaxRpm = None,
) -> int:
    """Write a plan: every program, prompt hash and gold answer, in sending order.

    The same preset, phase and model give the same bytes, the time in manifest.json aside. Sends nothing, unless
    --count-tokens asks for it. With --local the plan is for the model on this machine.

    Example: locality plan --preset smoke --phase p0 --out runs/smoke-offline
    """
    options.require_one(mock=mock, execute=execute)
    if not count_tokens:
        _refuse_count_options(run=run, mock=mock, execute=execute, max_http_attempts=max_http_attempts, max_rpm=max_rpm)
    elif max_http_attempts is None or not (execute or mock or local):
        raise UsageError("--count-tokens is HTTP: it needs --execute (or --mock, --local) and --max-http-attempts N")
    if run is not None and (out is not None or model is not None):
        raise UsageError("--run names a plan that exists: --out and --model have no say in it")
    if run is None and out is None:
        raise UsageError("where to? --out DIR names a new or empty folder for the plan")
    if local and model:
        raise UsageError("--local and --model exclude each other: the local model has a name of its own")
    if out is not None:
        _write(preset, PhaseName(phase), out, model=model, local=local)
    target = run or out
    if max_http_attempts is None or target is None:
        return 0
    from bench.cli.counting import Choice, count_plan  # noqa: PLC0415  (heavy, and only this option needs it)

    return count_plan(target, Choice(mock, local), attempts=max_http_attempts, max_rpm=max_rpm)


def audit(*, run: options.Run) -> int:
    """Check a plan as a referee would; writes audit.json. No run without it.

    Exits 1 if a check fails, naming the first case that fails it.
    """
    from bench.audit import audit_run  # noqa: PLC0415  (heavy)

    report = audit_run(run)
    for row in report.rows:
        mark = {True: "ok", False: "FAIL", None: "-"}[row.passed]
        first = f"; first: {row.first_offender}" if row.first_offender else ""
        typer.echo(f"{mark:4}  {row.name}: {row.number} {row.unit} of {row.examined}{first}")
    typer.echo(f"{'passed' if report.passed else 'FAILED'}: {run / 'audit.json'}")
    return 0 if report.passed else 1


def freeze(
    *,
    run: options.Run,
    capabilities: Annotated[Path, typer.Option("--capabilities", metavar="FILE", help="What preflight wrote.")],
    pilot: Annotated[
        Path | None,
        typer.Option(
            "--pilot",
            metavar="DIR",
            parser=options.run_dir,
            help="A finished pilot, whose variances give the smallest detectable difference. Default: a formula.",
        ),
    ] = None,
) -> int:
    """Fix a confirmatory plan before its first answer: writes freeze.json, preregistration.md and their like.

    Prints the freeze hash that run --protocol-hash asks for. Refused if anything was sent, or preflight tried other
    settings.
    """
    from bench.cli.freezing import freeze_plan  # noqa: PLC0415  (heavy)

    frozen = freeze_plan(run, capabilities, pilot=pilot)
    if frozen.synthetic_mock:
        typer.echo("frozen on the capabilities of a mock: only --mock may run it")
    typer.echo(f"written: {run / 'freeze.json'}, {run / 'preregistration.md'}")
    typer.echo(f"freeze hash, for --protocol-hash: {frozen.freeze_hash}")
    return 0


def verify(*, run: options.Run) -> int:
    """Derive the plan again from protocol.json and compare every hash: anyone can check a published run.

    Exits 1 and names what differs.
    """
    from bench.plan.verify import verify_run  # noqa: PLC0415  (heavy)
    from bench.score.fingerprint import grader_hash  # noqa: PLC0415

    differences = verify_run(run, grader_hash=grader_hash())
    for difference in differences:
        typer.echo(difference)
    typer.echo(f"{run}: {'differs from its protocol' if differences else 'is what its protocol says'}")
    return 1 if differences else 0


def schema(
    *,
    name: Annotated[str | None, typer.Argument(metavar="[FILE]", help="Only this file's, e.g. terminal.json.")] = None,
) -> int:
    """Print the JSON Schemas of the files of a run, or of one of them."""
    from bench.cli.schemas import file_schemas  # noqa: PLC0415  (imports every record)

    schemas = file_schemas()
    if name is not None and name not in schemas:
        raise UsageError(f"no schema for {name!r}: one of {', '.join(schemas)}")
    typer.echo(json.dumps(schemas if name is None else schemas[name], indent=2, ensure_ascii=False))
    return 0


def _refuse_count_options(**given: object) -> None:
    for name, value in given.items():
        if value:
            raise UsageError(
                f"--{name.replace('_', '-')} has a meaning only with --count-tokens: planning sends nothing"
            )


def _write(preset: str, phase: PhaseName, out: Path, *, model: str | None, local: str | None) -> None:
    from bench.backends.planning import model_settings, plan_run  # noqa: PLC0415  (heavy)
    from bench.plan.config import load_preset  # noqa: PLC0415

    config = load_preset(preset)
    settings = model_settings(config, local=local, env=os.environ, model=model)
    _show(plan_run(config, phase=phase.value, model=settings, out=out), settings.model)


def _show(summary: PlanSummary, model: str) -> None:
    typer.echo(
        f"planned {summary.preset} {summary.phase} for {model}: {summary.trials} trials, {summary.blocks} blocks, "
        f"{summary.cases} cases, {summary.families} families"
    )
    typer.echo(f"protocol hash {summary.protocol_hash}")
    typer.echo(f"next: locality audit --run {shlex.quote(str(summary.run_dir))}")
