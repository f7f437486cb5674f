"""The two commands that send without pytest: token counting of a plan, and preflight. Both under the same ledger."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bench.audit import audit_run, require_audit
from bench.backends.local_model import LocalServer, find_weights, read_spec
from bench.backends.mock import mock_transport
from bench.backends.planning import PACKAGED, model_settings
from bench.plan.config import load_preset
from bench.plan.plan_files import Plan
from bench.plan.run_files import AUDIT_FILE
from bench.run.counting import count_tokens
from bench.run.preflight import run_preflight
from bench.run.session import ControllerSession, Invocation
from bench.score.fingerprint import grader_hash

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from bench.plan.config import ModelSettings
    from bench.run.counting import CountSummary


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go: the backend's name, the base URL, and a transport instead of sockets for a mock."""

    backend: str
    base_url: str
    transport: httpx.BaseTransport | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The backend as given on the command line; neither a mock's mode nor a local model: the live endpoint."""

    mock: str | None
    local: str | None


@contextmanager
def endpoint(choice: Choice, model: ModelSettings, run_dir: Path | None) -> Iterator[Endpoint]:
    """The endpoint, which for a local model lasts as long as the ``with`` block.

    Raises:
        LocalModelError: the settings are not for a local model, or it cannot be started.
    """
    if choice.mock is not None:
        yield Endpoint(f"mock-{choice.mock}", model.base_url, mock_transport(choice.mock, run_dir))
    elif choice.local is not None:
        weights = find_weights(None if choice.local == PACKAGED else Path(choice.local))
        with LocalServer(read_spec(model.local), weights) as server:
            yield Endpoint("local", server.base_url)
    else:
        yield Endpoint("live", model.base_url)


def count_plan(run_dir: Path, choice: Choice, *, attempts: int, max_rpm: int | None) -> int:
    """0 if every prompt of the plan is counted, 6 if a cap came first, 1 if anything else did.

    Raises:
        Refusal: nothing may be sent for this run now.
    """
    if not (run_dir / AUDIT_FILE).is_file():
        audit_run(run_dir)
    with endpoint(choice, Plan.open(run_dir).model, run_dir) as where:
        invocation = Invocation(where.backend, max_http_attempts=attempts, max_rpm=max_rpm, purpose="count")
        base_url = where.base_url if where.backend == "local" else None
        session = ControllerSession.open(
            run_dir, invocation, base_url=base_url, require_audit=require_audit, grader_hash=grader_hash()
        )
        try:
            summary = count_tokens(session, transport=where.transport)
        finally:
            session.close()
    _show_counts(summary)
    return 0 if summary.stopped is None else 6 if summary.stopped == "cap" else 1


def try_settings(
    out: Path, choice: Choice, *, preset: str, model: str | None, caps: tuple[int | None, int | None]
) -> int:
    """0 if the endpoint took the settings, 1 if not; ``capabilities.json`` says what was seen.

    ``caps`` are HTTP attempts and tokens.

    Raises:
        Refusal: nothing may be sent.
    """
    settings = model_settings(load_preset(preset), local=choice.local, env=os.environ, model=model)
    with endpoint(choice, settings, None) as where:
        invocation = Invocation(
            where.backend, max_generation_calls=1, max_http_attempts=caps[0], local_token_cap=caps[1]
        )
        seen = run_preflight(out, invocation, model=settings, base_url=where.base_url, transport=where.transport)
    for error in seen.errors:
        typer.echo(f"not ok: {error}")
    typer.echo(f"asked for {seen.model_requested}, answered by {seen.model_returned}; status {seen.status}")
    typer.echo(f"counted {seen.counted_input_tokens} input tokens; usage fields: {', '.join(seen.usage_fields_seen)}")
    typer.echo(f"{'refused' if seen.errors else 'ok'}: {out / 'capabilities.json'}")
    return 1 if seen.errors else 0


def _show_counts(summary: CountSummary) -> None:
    typer.echo(
        f"counted {summary.counted} of {summary.requests} prompts: {summary.input_tokens:,} input tokens in all; "
        f"{summary.http_attempts} HTTP attempts"
    )
    if summary.stopped is not None:
        typer.echo(f"stopped: {summary.stopped}; locality plan --run DIR --count-tokens goes on")
