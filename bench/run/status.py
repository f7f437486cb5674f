"""What a run has come to, read from its files without a lock: for ``status``, the dry run and reports.

Read-only. Nothing of the ledger's writer or of any client is imported.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bench.plan.plan_files import Plan
from bench.run.fs import OsFs
from bench.run.locks import is_locked
from bench.run.prepare import planned_body, worst_case_tokens
from bench.run.records import EVALUABLE_ENDINGS
from bench.run.records_io import read_run_terminal
from bench.run.states import ledger_state, trial_states
from bench.run.store import known_counts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bench.run.ledger_fold import LedgerState


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as a reader sees it: which positions are pending, which are ambiguous, how many have ended."""

    plan: Plan
    pending: tuple[int, ...]
    ambiguous: tuple[int, ...]
    terminal_count: int
    bound_backend: str | None

    @property
    def total(self) -> int:
        """How many trials are planned."""
        return len(self.plan.schedule)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What sending some trials would take at most. Retries are not in it."""

    trials: int
    count_requests: int
    generation_requests: int
    worst_case_tokens: int


@dataclass(frozen=True, slots=True)
class LedgerTotals:
    """Tokens and attempts as booked. Window fields concern the newest budget window; ``by_window`` all of them."""

    window: str | None
    cap: int | None
    known_tokens: int
    unresolved_tokens: int
    in_flight_tokens: int
    carried_tokens: int
    by_window: dict[str, int]
    bound_backend: str | None
    soft_budget: bool
    last_stop: str | None


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Where a run stands. ``ambiguous`` lists trial ids; ``endings`` counts terminal records."""

    run_dir: str
    planned: int
    terminal: int
    evaluable: int
    pending: int
    ambiguous: list[str]
    endings: dict[str, int]
    ledger: LedgerTotals
    locked: bool

    @property
    def complete(self) -> bool:
        """Whether every planned trial has ended."""
        return self.terminal == self.planned

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for printing as JSON."""
        return asdict(self)


def read_run(run_dir: Path, *, verify: bool = True) -> RunView:
    """The run as it stands.

    Raises:
        PlanError: there is no plan, or a file of it was changed.
        LedgerDamagedError: the ledger is broken before its tail.
    """
    plan = Plan.open(run_dir, verify=verify)
    state = ledger_state(run_dir)
    states = trial_states(run_dir, state)
    pending: list[int] = []
    ambiguous: list[int] = []
    for row in plan.schedule:
        standing = states.get(row.trial_id)
        if standing == "ambiguous":
            ambiguous.append(row.position)
        elif standing != "terminal":
            pending.append(row.position)
    count = len(plan.schedule) - len(pending) - len(ambiguous)
    return RunView(plan, tuple(pending), tuple(ambiguous), count, state.bound_backend)


def forecast(view: RunView, positions: Iterable[int] | None = None) -> Forecast:
    """What sending these positions (default: all pending) would take at most; builds each prompt once."""
    wanted = view.pending if positions is None else tuple(positions)
    counts = known_counts(view.plan.run_dir)
    uncounted: set[str] = set()
    tokens = 0
    for position in wanted:
        row = view.plan.schedule[position]
        request, body = planned_body(view.plan, row)
        counted = counts.get(row.request_sha256)
        if counted is None:
            uncounted.add(row.request_sha256)
        tokens += worst_case_tokens(request, size=len(body), counted=counted)
    return Forecast(len(wanted), len(uncounted), len(wanted), tokens)


def ledger_totals(state: LedgerState) -> LedgerTotals:
    """The numbers of a folded ledger."""
    stop = state.last_stop
    return LedgerTotals(
        window=state.window,
        cap=state.cap,
        known_tokens=state.known,
        unresolved_tokens=state.unresolved,
        in_flight_tokens=state.in_flight,
        carried_tokens=state.carried,
        by_window=dict(state.known_by_window),
        bound_backend=state.bound_backend,
        soft_budget=bool(state.invocation and state.invocation.opened.soft_budget),
        last_stop=": ".join(filter(None, (stop.reason, stop.detail))) if stop else None,
    )


def status(run_dir: Path) -> RunStatus:
    """Where the run stands.

    Raises:
        PlanError, LedgerDamagedError, RunFileError: a file is missing, changed or broken; the message names it.
    """
    plan = Plan.open(run_dir, verify=True)
    ledger = ledger_state(run_dir)
    states = trial_states(run_dir, ledger)
    endings: Counter[str] = Counter()
    for row in plan.schedule:
        if states.get(row.trial_id) == "terminal":
            terminal = read_run_terminal(run_dir, row.trial_id)
            endings[terminal.ending if terminal else "missing"] += 1
    ambiguous = [row.trial_id for row in plan.schedule if states.get(row.trial_id) == "ambiguous"]
    ended = sum(endings.values())
    return RunStatus(
        run_dir=str(run_dir),
        planned=len(plan.schedule),
        terminal=ended,
        evaluable=sum(count for ending, count in endings.items() if ending in EVALUABLE_ENDINGS),
        pending=len(plan.schedule) - ended - len(ambiguous),
        ambiguous=ambiguous,
        endings=dict(sorted(endings.items())),
        ledger=ledger_totals(ledger),
        locked=is_locked(OsFs(), run_dir),
    )
