"""The sending side of a session: one per process. It is told what is pending and never decides that.

Imports nothing heavy: thousands of trials go through a process that has only client, plan, store and ledger.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bench.llm.credentials import Credentials
from bench.llm.responses import ResponsesClient
from bench.llm.transport import Transport
from bench.plan.plan_files import Plan
from bench.plan.run_files import LEDGER_FILE
from bench.run.clock import Clock, SystemClock
from bench.run.events import EventLog
from bench.run.fs import Fs, OsFs
from bench.run.invocation import LIVE, Handoff
from bench.run.ledger import Ledger
from bench.run.locks import lock_worker
from bench.run.prepare import block_trials
from bench.run.session_ledger import SessionLedger
from bench.run.store import RunStore, known_counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import httpx

    from bench.run.ledger_records import StopReason
    from bench.run.trial_types import Trial


class WorkerSession:
    """One process that sends trials. ``client``, ``ledger`` and ``store`` are what `run_trial` takes."""

    def __init__(self, handoff: Handoff, *, worker: str, client: ResponsesClient, clock: Clock, fs: Fs) -> None:
        run_dir = Path(handoff.run_dir)
        self._lock = lock_worker(fs, run_dir)
        self.plan = Plan.open(run_dir, verify=False)  # the controller has hashed the files; each prompt is hashed again
        self.client = client
        self.pending = handoff.pending
        events = EventLog(run_dir, fs=fs, clock=clock)
        self._ledger_file = Ledger(
            run_dir / LEDGER_FILE,
            fs=fs,
            clock=clock,
            on_torn=lambda aside: events.append("torn_tail_set_aside", file=aside.name),
        )
        # seeded by the system: jitter that two workers share would be none; it enters no data
        dice = random.Random()  # noqa: S311 - spreads retries, protects nothing
        self.ledger = SessionLedger(self._ledger_file, opened=handoff.opened, worker=worker, clock=clock, dice=dice)
        self.store = RunStore(run_dir, run=self.plan.protocol_hash, redactor=client.transport.redactor, fs=fs)
        self._counts = known_counts(run_dir)
        self._selected = frozenset(handoff.pending)
        self._by_block = _by_block(self.plan, handoff.pending)
        self._block: tuple[int, dict[int, Trial]] = (-1, {})

    @classmethod
    def join(
        cls,
        handoff: Mapping[str, Any],
        *,
        worker: str,
        transport: httpx.BaseTransport | None = None,
        clock: Clock | None = None,
        fs: Fs | None = None,
    ) -> Self:
        """Take a share of ``workers.lock`` and open everything that sending needs. ``transport`` replaces the sockets.

        Raises:
            Refusal: another session is starting on this run.
        """
        told = Handoff.from_builtins(handoff)
        # a key is for the endpoint it was given for: no other backend ever sees it
        environment = os.environ if told.opened.backend == LIVE else {}
        http = Transport(told.base_url, credentials=Credentials.from_environment(environment), transport=transport)
        return cls(told, worker=worker, client=ResponsesClient(http), clock=clock or SystemClock(), fs=fs or OsFs())

    def select(self, positions: Iterable[int]) -> None:
        """Tell which positions will really be run: a block sets aside budget only for these."""
        self._selected = frozenset(positions)
        self._block = (-1, {})

    def trial(self, position: int) -> Trial:
        """The trial at a position of the schedule, ready to be sent.

        Raises:
            PromptChangedError: its prompt is not the one that was planned.
        """
        number = self.plan.schedule[position].block
        if self._block[0] != number or position not in self._block[1]:
            self._block = (number, self._prepared(number, position))
        return self._block[1][position]

    def request_stop(self, reason: StopReason, detail: str = "") -> None:
        """Nobody of this session sends any more."""
        self.ledger.stop(reason, detail)

    def close(self) -> None:
        """Give back what is set aside, the connections and the lock."""
        try:
            self.ledger.leave_block()
        finally:
            self.client.transport.close()
            self._ledger_file.close()
            self._lock.release()

    def _prepared(self, block: int, position: int) -> dict[int, Trial]:
        """The trials of a block that are still to be sent; the one asked for is always among them."""
        sent, invocation = self.ledger.trials(), self.ledger.opened.invocation

        def is_through(place: int) -> bool:
            seen = sent.get(self.plan.schedule[place].trial_id)
            return seen is not None and seen.last_invocation == invocation

        positions = [
            place
            for place in self._by_block.get(block, [position])
            if place == position or (place in self._selected and not is_through(place))
        ]
        rows = [self.plan.schedule[place] for place in positions]
        trials = block_trials(self.plan, rows, self._counts, soft_budget=self.ledger.opened.soft_budget)
        return dict(zip(positions, trials, strict=True))


def _by_block(plan: Plan, positions: Iterable[int]) -> dict[int, list[int]]:
    blocks: dict[int, list[int]] = {}
    for position in positions:
        blocks.setdefault(plan.schedule[position].block, []).append(position)
    return blocks
