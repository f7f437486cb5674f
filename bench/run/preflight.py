"""One count and one generation with the settings of a plan, to see what an endpoint makes of them.

Sends through the same trial runner, ledger and caps as a run, and never changes a setting to make it work. What was
seen goes into ``capabilities.json``.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from bench.llm.body import body_bytes, count_body, generation_body
from bench.llm.credentials import Credentials
from bench.llm.model import LlmRequest, TextMessage
from bench.llm.responses import ResponsesClient
from bench.llm.transport import Transport
from bench.plan.config import Limits
from bench.plan.records import ScheduleRow
from bench.plan.run_files import CAPABILITIES_FILE, LEDGER_FILE
from bench.run.clock import Clock, SystemClock, timestamp
from bench.run.events import EventLog
from bench.run.fs import OsFs, write_file
from bench.run.invocation import LIVE, MOCK, Invocation, Refusal
from bench.run.ledger import Ledger
from bench.run.ledger_records import LedgerDamagedError, Share
from bench.run.locks import lock_session
from bench.run.prepare import worst_case_tokens
from bench.run.records_io import read_count, read_run_terminal, trial_dir
from bench.run.session_ledger import SessionLedger
from bench.run.start import begin, boot_id, check_credentials
from bench.run.store import RunStore
from bench.run.trial import run_trial
from bench.run.trial_types import Trial, TrialResult
from bench.wire.hashing import hash_document, sha256_hex

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

    from bench.plan.config import ModelSettings
    from bench.run.records import TerminalRecord


_INSTRUCTIONS = "Answer with the integer alone."
_QUESTION = "What is 1000 + 234?"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one count and one generation showed. ``errors`` is empty if both went well."""

    model_requested: str
    model_returned: str | None
    base_url: str
    reasoning_effort: str | None
    parameters_sent: list[str]
    count_ok: bool
    counted_input_tokens: int | None
    usage: dict[str, int | None] | None
    usage_fields_seen: list[str]
    status: str | None
    response_id: str | None
    request_ids: list[str]
    http_attempts: int
    at: str
    total_s: float | None
    synthetic_mock: bool
    errors: list[str]


def run_preflight(
    out: Path,
    invocation: Invocation,
    *,
    model: ModelSettings,
    base_url: str,
    transport: httpx.BaseTransport | None = None,
    clock: Clock | None = None,
) -> Capabilities:
    """Send the two requests and write ``capabilities.json`` into ``out``, which is made if it is missing.

    Raises:
        Refusal: a cap is missing, the endpoint or key is unusable, or ``out`` is in use; nothing was sent.
    """
    invocation.check()
    fs, clock = OsFs(), clock or SystemClock()
    environment = os.environ if invocation.backend == LIVE else {}
    if invocation.backend == LIVE:
        check_credentials(base_url, environment)
    _make(out)
    lock = lock_session(fs, out)
    try:
        http = Transport(base_url, credentials=Credentials.from_environment(environment), transport=transport)
        seen = _try(out, invocation, model=model, http=http, clock=clock)
        write_file(fs, out / CAPABILITIES_FILE, _json(seen), durable=True)
    except LedgerDamagedError as error:
        raise Refusal(str(error)) from None
    finally:
        lock.release()
    return seen


def _try(out: Path, invocation: Invocation, *, model: ModelSettings, http: Transport, clock: Clock) -> Capabilities:
    fs = OsFs()
    ledger = Ledger(out / LEDGER_FILE, fs=fs, clock=clock)
    try:
        trial = _trial(model, timestamp(clock))
        store = RunStore(out, run="preflight", redactor=http.redactor, fs=fs)
        opened = invocation.opened(trial.trial_id[:16], boot=boot_id(), limits=Limits())
        begin(ledger, opened, invocation=invocation, events=EventLog(out, fs=fs, clock=clock))
        dice = random.Random()  # noqa: S311 - spreads retries, protects nothing
        session = SessionLedger(ledger, opened=opened, worker="preflight", clock=clock, dice=dice)
        result = run_trial(trial, ResponsesClient(http), session, store)
        session.leave_block()
        return _capabilities(trial, result, out=out, ledger=ledger, model=model, base_url=str(http.base_url))
    finally:
        http.close()
        ledger.close()


def _capabilities(
    trial: Trial, result: TrialResult, *, out: Path, ledger: Ledger, model: ModelSettings, base_url: str
) -> Capabilities:
    terminal = read_run_terminal(out, trial.trial_id)
    count = read_count(trial_dir(out, trial.trial_id))
    state = ledger.refresh()
    stop = state.invocation.stop if state.invocation else None
    usage = asdict(terminal.usage) if terminal and terminal.usage else None
    ids = [count.request_id if count else None, terminal.request_id if terminal else None]
    return Capabilities(
        model_requested=model.model,
        model_returned=terminal.returned_model if terminal else None,
        base_url=base_url,
        reasoning_effort=model.reasoning_effort,
        parameters_sent=sorted(json.loads(trial.body)),
        count_ok=count is not None,
        counted_input_tokens=count.input_tokens if count else None,
        usage=usage,
        usage_fields_seen=sorted(name for name, value in (usage or {}).items() if value is not None),
        status=terminal.status if terminal else None,
        response_id=terminal.response_id if terminal else None,
        request_ids=[request_id for request_id in ids if request_id is not None],
        http_attempts=state.invocation.attempts if state.invocation else 0,
        at=terminal.ended_at if terminal else "",
        total_s=terminal.total_s if terminal else None,
        synthetic_mock=bool(state.bound_backend and state.bound_backend.startswith(MOCK)),
        errors=_errors(result, terminal, stop.detail if stop else None),
    )


def _errors(result: TrialResult, terminal: TerminalRecord | None, stop: str | None) -> list[str]:
    """Everything that keeps a run with these settings from going well."""
    found = [] if terminal is None or terminal.error is None else [str(terminal.error.get("message"))]
    if result.state != "terminal":
        found.append(f"{result.state}: {result.reason}")
    elif result.ending != "answered":
        found.append(f"ended as {result.ending}")
    return found + ([stop] if stop else [])


def _trial(model: ModelSettings, now: str) -> Trial:
    """A trial of its own: each preflight is a new one, and none is a trial of a plan."""
    request = LlmRequest(
        model=model.model,
        instructions=_INSTRUCTIONS,
        input=(TextMessage("user", _QUESTION),),
        max_output_tokens=model.max_output_tokens_reading,
        reasoning_effort=model.reasoning_effort,
        temperature=model.temperature,
        top_p=model.top_p,
    )
    body = body_bytes(generation_body(request))
    request_hash = sha256_hex(body)
    trial_id = hash_document({"preflight": now, "request": request_hash})
    row = ScheduleRow(
        position=0, block=0, trial_id=trial_id, case_id="preflight", family_id="preflight", task="scope_lookup",
        view="after_close", syntax="braces", lexical="natural", lexicon_set=None, example_set=0, depth=2, filler=0,
        seed_index=0, lookup_kind="inner", replicate=0, request_sha256=request_hash,
    )  # fmt: skip
    share = Share(trial_id, 1, 2, worst_case_tokens(request, size=len(body), counted=None))
    return Trial(row, request, body, body_bytes(count_body(request)), None, (share,))


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"{out}: cannot be made ({error.strerror}); choose another --out") from None


def _json(seen: Capabilities) -> bytes:
    return json.dumps(asdict(seen), indent=2, sort_keys=True).encode() + b"\n"
