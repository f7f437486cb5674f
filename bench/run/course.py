"""The course of one trial: count, reserve, send, store, book, and again while the rules allow it.

The order of these steps is what makes a kill at any point harmless; what is made of each remainder is in ``recover``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.llm.model import LlmResponse, RawResponse
from bench.llm.responses import COUNT_PATH, GENERATE_PATH, decode_count, decode_response
from bench.llm.retry import MAX_TOTAL_S
from bench.run.attempt_files import When, meta_of_answer, meta_of_failure
from bench.run.clock import timestamp
from bench.run.judgement import COUNT_MARGIN, Situation, judge, judge_count
from bench.run.ledger_records import Pause, Reserve, Settle, attempt_key
from bench.run.limits import Halt
from bench.run.records import EVALUABLE_ENDINGS, AttemptTiming, CountRecord
from bench.run.session_ledger import Expired, Granted
from bench.run.terminal import Circumstances, error_record, terminal_record
from bench.run.trial_types import SendingClient, Trial, TrialResult, TrialState

if TYPE_CHECKING:
    from bench.llm.model import DecodeError, LlmResult, TransportError
    from bench.run.judgement import Judgement
    from bench.run.ledger_fold import TrialLedger
    from bench.run.ledger_records import Purpose, Record
    from bench.run.records import AttemptMeta, Ending
    from bench.run.session_ledger import SessionLedger
    from bench.run.store import RunStore


@dataclass(slots=True)
class _Times:
    """Seconds spent so far, by kind."""

    started: float
    queue_s: float = 0.0
    count_s: float = 0.0
    backoff_s: float = 0.0
    sent_at: str | None = None
    attempts: list[AttemptTiming] = field(default_factory=list)


class Course:
    """The course of one trial in one invocation."""

    def __init__(
        self,
        trial: Trial,
        client: SendingClient,
        ledger: SessionLedger,
        store: RunStore,
        seen: TrialLedger,
        *,
        ended_before: bool = False,
    ) -> None:
        """``ended_before``: the trial has a terminal record, which is set aside once something is sent."""
        self._trial, self._client, self._ledger, self._store = trial, client, ledger, store
        self._times = _Times(ledger.clock.monotonic())
        self._seen = seen
        self._series = seen.series
        self._number = seen.attempts
        self._in_series = seen.series_attempts
        self._count_number, self._counts = seen.counts, seen.series_counts
        self._counted = trial.counted
        self._redacted = False
        self._block: int | None = None
        self._waiting_for_retry = False
        self._ended_before = ended_before

    def run(self) -> TrialResult:
        """Go on until the trial has ended or nothing more may be sent."""
        trial_id = self._trial.trial_id
        self._block = self._trial.row.block
        halt = self._ledger.enter_block(self._block, self._trial.shares)
        if halt is not None:
            return self._not_sent(halt)
        self._store.open_folders(share.trial for share in self._trial.shares)  # one flush for the whole block
        self._store.save_request(trial_id, self._trial.body)
        self._begin_series()
        closing: tuple[Settle, ...] = ()
        if self._counted is not None:
            self._save_count(0.0, None, cached=True)
        elif not self._ledger.opened.soft_budget:
            counted = self._count()
            if isinstance(counted, TrialResult):
                return counted
            closing = counted
        return self._generate(closing)

    def count_only(self) -> TrialResult:
        """Count the request and leave it at that: the trial stays as it was."""
        self._store.open_folders([self._trial.trial_id])
        counted = self._count()
        if isinstance(counted, TrialResult):
            return counted
        self._ledger.book(*counted)
        return TrialResult(self._trial.trial_id, "not_dispatched")

    def _begin_series(self) -> None:
        """A trial that is sent again on request gets a new series."""
        if self._ended_before or self._seen.last in ("in_flight", "ambiguous"):
            self._series, self._in_series, self._counts = self._seen.series + 1, 0, 0

    def _count(self) -> tuple[Settle, ...] | TrialResult:
        """The records that close a count that succeeded, or the result of a trial that gets no further."""
        while True:
            self._count_number, self._counts = self._count_number + 1, self._counts + 1
            ask = self._reserve("count", self._count_number, 0)
            halted = self._acquire(ask, ())
            if halted is not None:
                return halted
            started = self._ledger.clock.monotonic()
            raw = self._client.send(COUNT_PATH, self._trial.count_body)
            seconds = self._ledger.clock.monotonic() - started
            self._times.count_s += seconds
            counted = decode_count(raw) if isinstance(raw, RawResponse) else raw
            if isinstance(counted, int):
                self._counted = counted
                self._save_count(seconds, raw, cached=False)
                return (Settle(ask.key, 0, "counted"),)
            judgement = judge_count(counted, self._situation(ask, self._counts))
            over = self._after(judgement, counted)
            if over is not None:
                return over

    def _generate(self, closing: tuple[Settle, ...]) -> TrialResult:
        while True:
            self._number, self._in_series = self._number + 1, self._in_series + 1
            ask = self._reserve("generate", self._number, self._tokens())
            halted = self._acquire(ask, closing)
            if halted is not None:
                return halted
            closing = ()
            result, meta = self._attempt(ask)
            judgement = judge(result, self._situation(ask, self._in_series))
            self._times.attempts.append(_timing(meta, judgement))
            self._store.save_meta(meta)
            over = self._after(judgement, result)
            if over is not None:
                return over

    def _acquire(self, ask: Reserve, closing: tuple[Settle, ...]) -> TrialResult | None:
        give_up_at = self._times.started + MAX_TOTAL_S if self._waiting_for_retry else None
        got = self._ledger.acquire(ask, closing=closing, give_up_at=give_up_at)
        if isinstance(got, Halt):
            return self._not_sent(got)
        if self._waiting_for_retry:
            self._times.backoff_s += got.waited_s
        else:
            self._times.queue_s += got.waited_s
        match got:
            case Granted():
                self._waiting_for_retry = False
                self._set_old_end_aside()
                return None
            case Expired():
                return self._end(self._last_error, "api_rejected", "time")

    def _set_old_end_aside(self) -> None:
        """Only now that something is sent: a cap must not take a trial's recorded end away."""
        if self._ended_before:
            self._store.set_terminal_aside(self._trial.trial_id)
            self._ended_before = False

    def _attempt(self, ask: Reserve) -> tuple[LlmResult, AttemptMeta]:
        """Send, put the body on the disk, and only then read it."""
        clock, sent_at = self._ledger.clock, timestamp(self._ledger.clock)
        self._times.sent_at = self._times.sent_at or sent_at
        started = clock.monotonic()
        raw = self._client.send(GENERATE_PATH, self._trial.body)
        seconds = clock.monotonic() - started
        if not isinstance(raw, RawResponse):
            return raw, meta_of_failure(ask, raw, when=When(sent_at, seconds), redactor=self._store.redactor)
        self._redacted = self._redacted or raw.redacted
        if raw.withheld is None:
            self._store.save_body(self._trial.trial_id, ask.attempt, raw.body)
        result = decode_response(raw, max_output_tokens=self._trial.request.max_output_tokens)
        error = None if isinstance(result, LlmResponse) else error_record(result, self._store.redactor)
        return result, meta_of_answer(ask, raw, when=When(sent_at, seconds), error=error)

    def _after(self, judgement: Judgement, result: LlmResult) -> TrialResult | None:
        """Store and book what an attempt came to; None if the trial goes on with another."""
        if judgement.ending is not None:
            return self._end(result, judgement.ending, judgement.reason, *judgement.closing)
        if judgement.wait_s is None:
            self._ledger.book(*judgement.closing)
            state: TrialState = "ambiguous" if judgement.ambiguous else "pending"
            return TrialResult(self._trial.trial_id, state, reason=judgement.reason)
        clock = self._ledger.clock
        until_ms = int((clock.monotonic() + judgement.wait_s) * 1000)
        reason = judgement.reason or "retry"
        self._ledger.book(*judgement.closing, Pause(until_ms, judgement.wait_s, self._trial.trial_id, reason))
        self._waiting_for_retry = True
        self._last_error = result
        return None

    def _end(self, result: LlmResult, ending: Ending, reason: str | None, *closing: Record) -> TrialResult:
        clock, times = self._ledger.clock, self._times
        record = terminal_record(
            result,
            ending,
            reason=reason,
            redactor=self._store.redactor,
            circumstances=Circumstances(
                trial_id=self._trial.trial_id,
                backend=self._ledger.opened.backend,
                series=self._series,
                counted=self._counted,
                ended_at=timestamp(clock),
                queue_s=times.queue_s,
                count_s=times.count_s,
                backoff_s=times.backoff_s,
                total_s=clock.monotonic() - times.started,
                sent_at=times.sent_at,
                attempts=times.attempts,
                redacted=self._redacted,
            ),
        )
        self._store.save_terminal(record)
        if closing:
            self._ledger.book(*closing)
        return TrialResult(self._trial.trial_id, "terminal", ending, None if ending in EVALUABLE_ENDINGS else reason)

    def _not_sent(self, halt: Halt) -> TrialResult:
        state: TrialState = "pending" if self._times.attempts else "not_dispatched"
        return TrialResult(self._trial.trial_id, state, reason=halt.reason)

    def _reserve(self, purpose: Purpose, number: int, tokens: int) -> Reserve:
        row = self._trial.row
        return Reserve(
            key=attempt_key(
                run=self._store.run,
                trial=row.trial_id,
                purpose=purpose,
                attempt=number,
                request_sha256=row.request_sha256,
            ),
            trial=row.trial_id,
            series=self._series,
            attempt=number,
            purpose=purpose,
            tokens=tokens,
            counted=self._counted if purpose == "generate" else None,
            block=self._block,
            worker=self._ledger.worker,
        )

    def _tokens(self) -> int:
        """What is reserved: input + output + margin. Without a count the input is its length in bytes, an estimate."""
        counted = len(self._trial.body) if self._counted is None else self._counted
        return counted + self._trial.request.max_output_tokens + COUNT_MARGIN

    def _situation(self, ask: Reserve, attempt: int) -> Situation:
        clock = self._ledger.clock
        return Situation(
            reserve=ask,
            invocation=self._ledger.opened.invocation,
            attempt=attempt,
            elapsed_s=clock.monotonic() - self._times.started,
            now=clock.utc_now(),
            jitter=self._ledger.dice.uniform(0, 1),
            strict_count=not self._ledger.opened.soft_budget,
        )

    def _save_count(
        self, seconds: float, raw: RawResponse | TransportError | DecodeError | None, *, cached: bool
    ) -> None:
        if self._counted is None:
            return
        self._store.save_count(
            CountRecord(
                trial_id=self._trial.trial_id,
                request_sha256=self._trial.row.request_sha256,
                input_tokens=self._counted,
                counted_at=timestamp(self._ledger.clock),
                s=seconds,
                request_id=raw.headers.get("x-request-id") if isinstance(raw, RawResponse) else None,
                cached=cached,
            )
        )


def _timing(meta: AttemptMeta, judgement: Judgement) -> AttemptTiming:
    retry_reason = judgement.reason if judgement.wait_s is not None else None
    return AttemptTiming(meta.number, meta.s, meta.http_status, retry_reason)
