"""``--mock``: an in-process transport that fabricates Responses bodies for the trials of a plan.

Modes: ``oracle`` gives gold answers and proves only the wiring; ``flawed`` makes every kind of error at known rates;
``planted`` is right at a known rate per notation. What a trial gets depends on the trial and the attempt alone: not on
the worker, the order or the process. It says nothing about any model, and every body says that it is synthetic.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, assert_never, get_args

import httpx

from bench.backends.mock_answers import REFUSAL, right_answer, slipped_answer, wrong_answer
from bench.backends.mock_bodies import (
    answer_body,
    count_body,
    error_body,
    failed_body,
    refusal_body,
    truncated_body,
)
from bench.backends.mock_rates import draw, load_rates, pick
from bench.data.gold import read_gold
from bench.plan.errors import PlanError
from bench.plan.records import SCHEDULE_ROW

if TYPE_CHECKING:
    from pathlib import Path

    from bench.backends.mock_rates import Fault
    from bench.plan.records import ScheduleRow

Mode = Literal["oracle", "flawed", "planted"]
MODES: tuple[Mode, ...] = get_args(Mode)
SOON = {"retry-after-ms": "1"}  # nobody has to wait for a mock


def mock_transport(mode: str, run_dir: Path | None = None) -> httpx.MockTransport:
    """The transport of ``mode`` for the plan in ``run_dir``; without a plan every request gets one fixed answer.

    Raises:
        PlanError: unknown mode, or no readable schedule and gold in ``run_dir``.
    """
    known = next((name for name in MODES if name == mode), None)
    if known is None:
        raise PlanError(f"unknown mock mode {mode!r}: one of {', '.join(MODES)}")
    return httpx.MockTransport(_Fabricator(known, run_dir))


class _Fabricator:
    """Answers one HTTP request; keeps only how often each trial was asked in this process."""

    def __init__(self, mode: Mode, run_dir: Path | None) -> None:
        self._mode = mode
        self._run_dir = run_dir
        self._rows: dict[str, list[ScheduleRow]] = defaultdict(list)
        self._asked: Counter[str] = Counter()
        if run_dir is not None:
            self._gold = _read_gold(run_dir)
            for row in _read_schedule(run_dir):
                self._rows[row.request_sha256].append(row)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """The fabricated answer, or the exception of a connection that failed."""
        asked = json.loads(request.content)
        if request.url.path.endswith("/responses/input_tokens"):
            return _respond(count_body(asked), "count")
        if self._run_dir is None:
            return _respond(answer_body(asked, "OK", key="preflight"), "preflight")
        rows = self._rows.get(sha256(request.content).hexdigest())
        if not rows:
            return _respond(error_body("no_such_trial", "invalid_request_error"), "unknown", status=400)
        row = self._in_flight(rows)
        return self._answer(row, self._next_attempt(row), asked)

    def _in_flight(self, rows: list[ScheduleRow]) -> ScheduleRow:
        """The trial that is being sent: replicates share their bytes, so the first one not ended yet."""
        return next((row for row in rows if not (self._trial_dir(row) / "terminal.json").exists()), rows[-1])

    def _next_attempt(self, row: ScheduleRow) -> int:
        """1 for the first attempt. Earlier processes are seen in the files they left, so that a resume goes on."""
        on_disk = {path.name.split("-")[1] for path in self._trial_dir(row).glob("attempt-*")}
        self._asked[row.trial_id] = 1 + max(len(on_disk), self._asked[row.trial_id])
        return self._asked[row.trial_id]

    def _trial_dir(self, row: ScheduleRow) -> Path:
        assert self._run_dir is not None
        return self._run_dir / "trials" / row.trial_id

    def _answer(self, row: ScheduleRow, attempt: int, asked: dict[str, Any]) -> httpx.Response:
        gold, key = self._gold[row.case_id], f"{row.trial_id}/{attempt}"
        match self._mode:
            case "oracle":
                return _respond(answer_body(asked, right_answer(row, gold), key=key), key)
            case "planted":
                right = draw(1000, row.trial_id, "planted") < load_rates().planted.accuracy_per_mille[row.syntax]
                text = right_answer(row, gold) if right else wrong_answer(row, gold, _episode(asked))
                return _respond(answer_body(asked, text, key=key), key)
            case "flawed":
                fault = _fault(row, attempt)
                return _faulty(fault, asked, key) if fault else self._flawed(row, asked, key)
            case _:
                assert_never(self._mode)

    def _flawed(self, row: ScheduleRow, asked: dict[str, Any], key: str) -> httpx.Response:
        rates, gold = load_rates().flawed, self._gold[row.case_id]
        per_mille = rates.writing_per_mille if row.task == "ast_to_source" else rates.reading_per_mille
        slip = pick(per_mille, row.trial_id, "slip")
        if slip is None:
            return _respond(answer_body(asked, right_answer(row, gold), key=key), key)
        if slip == "refusal":
            return _respond(refusal_body(asked, REFUSAL, key=key), key)
        text = slipped_answer(slip, row, gold, _episode(asked))
        if slip in {"incomplete_output", "suspected_truncation"}:
            return _respond(truncated_body(asked, text, key=key, admits=slip == "incomplete_output"), key)
        return _respond(answer_body(asked, text, key=key), key)


def _fault(row: ScheduleRow, attempt: int) -> Fault | None:
    """The infrastructure fault this attempt meets, if any."""
    faults = load_rates().flawed.infrastructure
    fault = pick({name: rate.per_mille for name, rate in faults.items()}, row.trial_id, "fault")
    return fault if fault is not None and attempt <= faults[fault].attempts else None


def _faulty(fault: Fault, asked: dict[str, Any], key: str) -> httpx.Response:
    match fault:
        case "rate_limited":
            return _respond(error_body("rate_limit_exceeded", "requests"), key, status=429, headers=SOON)
        case "server_error":
            return _respond(error_body("server_error", "server_error"), key, status=500, headers=SOON)
        case "overloaded":
            body = error_body("server_is_overloaded", "service_unavailable_error")
            return _respond(body, key, status=503, headers=SOON)
        case "rejected":
            return _respond(error_body("invalid_prompt", "invalid_request_error"), key, status=400)
        case "failed":
            return _respond(failed_body(asked, key=key), key)
        case "connection_reset":
            raise httpx.ReadError("synthetic: connection reset after the request was sent")
        case "not_connected":
            raise httpx.ConnectError("synthetic: connection refused")
        case "unreadable":
            return httpx.Response(200, content=b'{"object": "response", "output": [', headers=_headers(key))
        case _:
            assert_never(fault)


def _respond(
    body: dict[str, Any], key: str, *, status: int = 200, headers: dict[str, str] | None = None
) -> httpx.Response:
    return httpx.Response(status, json=body, headers={**_headers(key), **(headers or {})})


def _headers(key: str) -> dict[str, str]:
    return {"content-type": "application/json", "x-request-id": f"req_synthetic_{draw(1 << 62, key, 'request'):016x}"}


def _episode(asked: dict[str, Any]) -> str:
    return "\n".join(str(message.get("content")) for message in asked.get("input") or [])


def _read_schedule(run_dir: Path) -> list[ScheduleRow]:
    try:
        with (run_dir / "schedule.jsonl").open("rb") as lines:
            return [SCHEDULE_ROW.validate_json(line) for line in lines]
    except (OSError, ValueError) as error:
        raise _unreadable(run_dir / "schedule.jsonl", error) from error


def _read_gold(run_dir: Path) -> dict[str, Any]:
    try:
        return dict(read_gold(run_dir))
    except (OSError, ValueError) as error:
        raise _unreadable(run_dir / "gold.jsonl", error) from error


def _unreadable(path: Path, error: Exception) -> PlanError:
    return PlanError(f"{path} cannot be read ({str(error).splitlines()[0]}): give a planned run")
