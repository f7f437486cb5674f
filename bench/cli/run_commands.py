"""Commands that send, or look at what was sent: run, resume, status, resolve, preflight, serve-local.

Sending itself is pytest's: ``run`` only writes its command line.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

import bench
from bench.cli import options
from bench.cli.options import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(bench.__file__).resolve().parents[1]
CAPS = ("max_generation_calls", "max_http_attempts", "local_token_cap")

Calls = Annotated[
    int | None,
    typer.Option(
        "--max-generation-calls", metavar="N", parser=options.positive, help="Trials begun by this invocation, at most."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("-n", metavar="N", parser=options.not_negative, help="Requests in flight, instead of the plan's (4)."),
]
RetryAmbiguous = Annotated[
    bool,
    typer.Option(
        "--retry-ambiguous",
        help="Send again what may have been billed without an answer; the old reservation stays charged.",
    ),
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Send again trials that ended in an infrastructure outcome.")
]
SoftBudget = Annotated[
    bool,
    typer.Option(
        "--soft-budget", help="Go on where tokens cannot be counted, with an estimate; no cap is then strict."
    ),
]
Carryover = Annotated[
    bool, typer.Option("--accept-carryover", help="Go on although an earlier day's reservations are unresolved.")
]
ProtocolHash = Annotated[
    str | None,
    typer.Option(
        "--protocol-hash",
        metavar="HEX",
        parser=options.frozen_hash,
        help="What freeze printed; confirmatory runs need it.",
    ),
]


def register(app: typer.Typer) -> None:
    """Nothing; ``app`` then has these commands."""
    app.command("run")(run)
    app.command("resume", help=RESUME)(run)
    app.command("status")(status)
    app.command("resolve")(resolve)
    app.command("preflight")(preflight)
    app.command("serve-local")(serve_local)


RESUME = """Go on with a run: the same as run.

Trials that have ended are never sent again, right or wrong. The two caps on calls and attempts are for this
invocation; the token cap counts what the same UTC day has already used.
"""


def run(  # noqa: PLR0913  (each option is a parameter)
    *,
    run: options.Run,
    mock: options.Mock = None,
    local: options.Local = None,
    execute: options.Execute = False,
    max_generation_calls: Calls = None,
    max_http_attempts: options.Attempts = None,
    local_token_cap: options.TokenCap = None,
    max_rpm: options.MaxRpm = None,
    max_tpm: options.MaxTpm = None,
    workers: Workers = None,
    retry_ambiguous: RetryAmbiguous = False,
    retry_failed: RetryFailed = False,
    soft_budget: SoftBudget = False,
    accept_carryover: Carryover = False,
    protocol_hash: ProtocolHash = None,
) -> NoReturn:
    """Send the trials of a plan that are still pending, by calling pytest with the matching flags.

    Without --mock, --local or --execute this is a dry run: it lists what would be sent and sends nothing.
    --execute needs OPENAI_API_KEY and all three caps. The exit code is pytest's: 0 every trial has ended and can be
    judged, 1 something is missing, 2 interrupted, 4 refused, 6 stopped by a cap: resume.

    Example: locality run --run runs/smoke-offline --mock
    """
    options.require_one(mock=mock, local=local, execute=execute)
    flags = {
        "mock": mock,
        "local": None if local is None else str(Path(local).resolve()) if local != options.PACKAGED else local,
        "execute": execute,
        "max_generation_calls": max_generation_calls,
        "max_http_attempts": max_http_attempts,
        "local_token_cap": local_token_cap,
        "max_rpm": max_rpm,
        "max_tpm": max_tpm,
        "retry_ambiguous": retry_ambiguous,
        "retry_failed": retry_failed,
        "soft_budget": soft_budget,
        "accept_carryover": accept_carryover,
        "protocol_hash": protocol_hash,
    }
    if execute:
        options.require_caps({name: flags[name] for name in CAPS})
    sends = bool(mock or local or execute)
    in_flight = workers if workers is not None else planned_workers(run, local=bool(local)) if sends else 0
    command = pytest_command(ROOT, run.resolve(), flags, workers=in_flight)
    sys.stdout.flush()
    # this process becomes pytest: its signals and its exit code are ours
    os.execv(command[0], command)  # noqa: S606  (our own interpreter; no shell is wanted)


def pytest_command(root: Path, run_dir: Path, flags: Mapping[str, object], *, workers: int) -> list[str]:
    """The command that executes a run with these flags; those that are None or False are left out.

    Raises:
        UsageError: ``root`` is not a checkout of the project.
    """
    evals = root / "evals"
    if not (evals.is_dir() and (root / "conftest.py").is_file()):
        raise UsageError(f"run and resume need a checkout of the project, and {root} is none: pip install -e . in one")
    command = [sys.executable, "-m", "pytest", str(evals), f"--rootdir={root}", f"--run={run_dir}"]
    if workers > 1:
        command += ["-n", str(workers)]
    for name, value in flags.items():
        if value is not None and value is not False:
            command.append(options.flag_name(name) if value is True else f"{options.flag_name(name)}={value}")
    return command


def planned_workers(run_dir: Path, *, local: bool) -> int:
    """How many requests may be in flight by the plan: its concurrency, or the slots of the local server."""
    from bench.backends.local_spec import read_spec  # noqa: PLC0415  (pydantic models)
    from bench.plan.plan_files import Plan  # noqa: PLC0415

    protocol = Plan.open(run_dir, verify=False).typed_protocol
    if local:
        return read_spec(protocol.settings().local).options.n_parallel
    return protocol.preset_config().limits.concurrency


def status(
    *,
    run: options.Run,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Look again and again, until the run is over or Ctrl-C.")
    ] = False,
) -> int:
    """Say how far a run is. Exits 0 only when every planned trial has ended, so it can stand in a verify step.

    --watch redraws every two seconds on a terminal; into a file or a pipe it writes a plain line when there is news.
    """
    if watch and as_json:
        raise UsageError("--watch and --json exclude each other")
    if watch:
        from bench.cli.watching import watch as keep_looking  # noqa: PLC0415  (heavy)

        return keep_looking(run)
    from bench.run.status import status as read_status  # noqa: PLC0415  (heavy)

    state = read_status(run)
    if as_json:
        typer.echo(json.dumps(state.as_dict(), indent=2, ensure_ascii=False))
    else:
        from bench.cli.standing import status_lines  # noqa: PLC0415

        for line in status_lines(state):
            typer.echo(line)
    return 0 if state.complete else 1


def resolve(
    *,
    run: options.Run,
    trial: Annotated[str, typer.Option("--trial", metavar="ID", help="The trial, as status lists it.")],
    tokens: Annotated[
        int | None,
        typer.Option("--tokens", metavar="N", parser=options.not_negative, help="What the provider's usage page says."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Unknown: keep the whole reservation charged.")] = False,
) -> int:
    """Decide, as a person, about a trial that may have been billed without an answer.

    It is closed as missing. Either --tokens N, or --keep.
    """
    if (tokens is None) == (not keep):
        raise UsageError("say one of --tokens N (what was billed) and --keep (unknown: keep the reservation)")
    from bench.run.resolve import resolve as decide  # noqa: PLC0415  (heavy)

    typer.echo(decide(run, trial, tokens=tokens))
    return 0


def preflight(  # noqa: PLR0913  (each option is a parameter)
    *,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where capabilities.json is written.")],
    preset: options.Preset = "smoke",
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Default: as plan.")] = None,
    mock: options.Mock = None,
    local: options.Local = None,
    execute: options.Execute = False,
    max_http_attempts: options.Attempts = None,
    local_token_cap: options.TokenCap = None,
) -> int:
    """Try the model settings once: one count, one generation. Writes capabilities.json and changes nothing by itself.

    Exits 1 if the endpoint refused anything. --execute needs both caps.

    Example: locality preflight --out runs/preflight --execute --max-http-attempts 4 --local-token-cap 20000
    """
    options.require_one(mock=mock, local=local, execute=execute)
    if not (mock or local or execute):
        raise UsageError(
            "preflight sends two requests: say --execute, or --mock or --local to try it without a provider"
        )
    if execute:
        options.require_caps({"max_http_attempts": max_http_attempts, "local_token_cap": local_token_cap})
    from bench.cli.counting import Choice, try_settings  # noqa: PLC0415  (heavy)

    caps = (max_http_attempts, local_token_cap)
    return try_settings(out, Choice(mock, local), preset=preset, model=model, caps=caps)


def serve_local(
    *,
    local: options.Local = options.PACKAGED,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: a free one.")] = 0,
) -> int:
    """Run the local model's server in the foreground, on loopback, until Ctrl-C; prints its base URL.

    This is the server that pytest evals --local starts for itself; here it is for a look at it by hand.
    """
    from bench.cli.serving import serve  # noqa: PLC0415  (heavy)

    return serve(None if local in {None, options.PACKAGED} else Path(str(local)), port=port)
