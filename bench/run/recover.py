"""Sets right what a kill left behind, from files alone: nothing is sent, no answer is lost, nothing is freed on hope.

killed after                        found here                      made of it
intent or sending                   no body, no meta                stays ambiguous, reservation kept
body                                a whole Responses object        meta, terminal and settle are rebuilt
body                                anything else                   stays ambiguous, reservation kept
meta of a retryable status          body and meta                   settled by its rule, the trial stays pending
meta, terminal                      the rest                        terminal and settle are rebuilt

An answer that is on the disk also ends its trial when somebody lost the terminal record after it was settled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.llm.model import ApiError, DecodeError, LlmResponse, TransportError
from bench.llm.responses import decode_generation
from bench.run.attempt_files import meta_of_stored_body
from bench.run.clock import timestamp
from bench.run.judgement import Situation, ending_of, judge
from bench.run.ledger_records import Settle, Unresolved
from bench.run.records import AttemptTiming
from bench.run.records_io import TERMINAL, read_body, read_count, read_meta, trial_dir
from bench.run.terminal import Circumstances, terminal_record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.llm.model import LlmRequest, LlmResult
    from bench.run.clock import Clock
    from bench.run.ledger import Ledger
    from bench.run.ledger_fold import Reservation, TrialLedger
    from bench.run.records import AttemptMeta, Ending, TerminalRecord
    from bench.run.store import RunStore


@dataclass(slots=True)
class RecoveryReport:
    """How many trials were found in which state. ``torn`` names the tails that were set aside."""

    rebuilt: int = 0
    settled: int = 0
    ambiguous: int = 0
    torn: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Recovery:
    """The means of a recovery. ``request_of`` makes the request of a trial id again."""

    ledger: Ledger
    store: RunStore
    clock: Clock
    request_of: Callable[[str], LlmRequest]

    def run(self, report: RecoveryReport, *, worker: str | None = None) -> None:
        """Set right all attempts that nobody waits for any more; with ``worker``, only those of that worker."""
        state = self.ledger.refresh()
        for reservation in list(state.open.values()):
            seen = state.trials[reservation.reserve.trial]
            lost = seen.last in ("in_flight", "ambiguous") and reservation.reserve.attempt == seen.attempts
            mine = worker is None or reservation.reserve.worker == worker
            if lost and mine and reservation.reserve.purpose == "generate" and reservation.state != "reserved":
                self._set_right(reservation, seen, report)
        if worker is None:
            for trial_id, seen in state.trials.items():
                if seen.last == "closed" and not (trial_dir(self.store.run_dir, trial_id) / TERMINAL).exists():
                    self._bring_back(trial_id, seen, report)

    def _set_right(self, reservation: Reservation, seen: TrialLedger, report: RecoveryReport) -> None:
        trial_id = reservation.reserve.trial
        terminal = self.store.terminal(trial_id)
        if terminal is not None and terminal.series < reservation.reserve.series:
            self.store.set_terminal_aside(trial_id)
            terminal = None
        if terminal is not None:
            self._book(reservation, closing_of_terminal(terminal, reservation.reserve.key))
            report.settled += 1
            return
        found = self._result(reservation)
        if found is None:
            report.ambiguous += 1
            return
        judgement = judge(found, self._situation(reservation, seen))
        if judgement.ending is not None:
            self.store.save_terminal(
                self._terminal(
                    found,
                    judgement.ending,
                    reason=judgement.reason,
                    trial_id=trial_id,
                    seen=seen,
                    counted=reservation.reserve.counted,
                )
            )
            report.rebuilt += 1
        elif judgement.ambiguous:
            report.ambiguous += 1
        else:
            report.settled += 1
        self._book(reservation, *(r for r in judgement.closing if isinstance(r, Settle | Unresolved)))

    def _bring_back(self, trial_id: str, seen: TrialLedger, report: RecoveryReport) -> None:
        """The end of a trial whose attempt is settled and whose answer is there: it was paid for once."""
        folder = trial_dir(self.store.run_dir, trial_id)
        body, meta = read_body(folder, seen.attempts), read_meta(folder, seen.attempts)
        if body is None:
            return
        answer = self._decoded(trial_id, body, meta)
        if isinstance(answer, LlmResponse):
            ending, reason = ending_of(answer)
            self.store.save_terminal(
                self._terminal(answer, ending, reason=reason, trial_id=trial_id, seen=seen, counted=None)
            )
            report.rebuilt += 1

    def _result(self, reservation: Reservation) -> LlmResult | None:
        """What the attempt came to as far as its files tell; None if they tell nothing certain."""
        reserve = reservation.reserve
        folder = trial_dir(self.store.run_dir, reserve.trial)
        meta, body = read_meta(folder, reserve.attempt), read_body(folder, reserve.attempt)
        if meta is not None and meta.attempt_key != reserve.key:
            return None
        if body is None:
            return None if meta is None else _error_of(meta)
        result = self._decoded(reserve.trial, body, meta)
        if meta is None:
            if not isinstance(result, LlmResponse):
                return None
            self.store.save_meta(meta_of_stored_body(reserve, body))
        return result

    def _decoded(self, trial_id: str, body: bytes, meta: AttemptMeta | None) -> LlmResult:
        """What a stored body says; status and headers are those of its meta file, where there is one."""
        return decode_generation(
            body,
            http_status=meta.http_status if meta else None,
            headers=meta.headers if meta else {},
            request=self.request_of(trial_id),
        )

    def _book(self, reservation: Reservation, *closing: Settle | Unresolved) -> None:
        """An attempt that is unresolved already is not left unresolved a second time."""
        unresolved = reservation.state == "unresolved"
        records = [record for record in closing if not (unresolved and isinstance(record, Unresolved))]
        if records:
            self.ledger.append(*records)

    def _situation(self, reservation: Reservation, seen: TrialLedger) -> Situation:
        return Situation(
            reserve=reservation.reserve,
            invocation="",
            attempt=seen.series_attempts,
            elapsed_s=0.0,
            now=self.clock.utc_now(),
            jitter=0.0,
            strict_count=False,
        )

    def _terminal(
        self,
        result: LlmResult,
        ending: Ending,
        *,
        reason: str | None,
        trial_id: str,
        seen: TrialLedger,
        counted: int | None,
    ) -> TerminalRecord:
        folder = trial_dir(self.store.run_dir, trial_id)
        metas = _metas(folder, first=seen.attempts - seen.series_attempts + 1, last=seen.attempts)
        count = read_count(folder)
        return terminal_record(
            result,
            ending,
            reason=reason,
            redactor=self.store.redactor,
            circumstances=Circumstances(
                trial_id=trial_id,
                backend=self.ledger.state.bound_backend or "live",
                series=seen.series,
                counted=count.input_tokens if count else counted,
                ended_at=timestamp(self.clock),
                sent_at=metas[0].sent_at if metas else None,
                attempts=[AttemptTiming(meta.number, meta.s, meta.http_status) for meta in metas],
                redacted=any(meta.redacted for meta in metas),
                rebuilt=True,
            ),
        )


def closing_of_terminal(terminal: TerminalRecord, key: str) -> Settle | Unresolved:
    """What the ledger is told about the last attempt of a trial that has ended."""
    error = terminal.error or {}
    if terminal.usage is not None:
        usage = terminal.usage
        return Settle(key, max(usage.total_tokens, usage.input_tokens + usage.output_tokens), "usage")
    status = error.get("http_status")
    if error.get("kind") == "api" and isinstance(status, int) and 400 <= status < 500:
        return Settle(key, 0, "rejected")
    if error.get("kind") == "transport" and error.get("ambiguous_outcome") is False:
        return Settle(key, 0, "not_sent")
    return Unresolved(key, "server_error" if error.get("kind") == "api" else "usage_missing")


def _metas(folder: Path, *, first: int, last: int) -> list[AttemptMeta]:
    found = (read_meta(folder, number) for number in range(max(1, first), last + 1))
    return [meta for meta in found if meta is not None]


def _error_of(meta: AttemptMeta) -> LlmResult | None:
    """The error that a meta file without a body describes."""
    error: dict[str, Any] = dict(meta.error or {})
    match error.get("kind"):
        case "transport":
            return TransportError(str(error.get("message")), bool(error.get("ambiguous_outcome", True)))
        case "decode":
            return DecodeError(str(error.get("message")), meta.http_status, meta.request_id, b"")
        case "api":
            return ApiError(
                http_status=int(error["http_status"]),
                code=error.get("code"),
                type=error.get("type"),
                message=str(error.get("message")),
                retry_after=error.get("retry_after"),
                request_id=meta.request_id,
                raw_body=b"",
                param=error.get("param"),
            )
    return None
