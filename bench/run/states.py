"""Where each trial of a run stands, read from its files without a lock. No dispatch code is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bench.plan.run_files import LEDGER_FILE
from bench.run.ledger_file import read_state
from bench.run.records_io import TERMINAL, TRIALS, read_terminal, trial_dir

if TYPE_CHECKING:
    from pathlib import Path

    from bench.run.ledger_fold import LedgerState, TrialLedger

TrialState = Literal["terminal", "pending", "ambiguous", "not_dispatched"]


def trial_states(run_dir: Path, ledger: LedgerState | None = None) -> dict[str, TrialState]:
    """The state of every trial that the ledger or a terminal record knows; all others are not dispatched.

    ``ledger`` is the folded ledger, where the caller has read it already.

    Raises:
        LedgerDamagedError: the ledger is broken before its tail.
    """
    state = ledger or ledger_state(run_dir)
    ended = {path.parent.name for path in (run_dir / TRIALS).glob(f"*/{TERMINAL}")}
    known: dict[str, TrialState] = dict.fromkeys(ended, "terminal")
    for trial_id, seen in state.trials.items():
        known[trial_id] = state_of(run_dir, trial_id, seen, ended=trial_id in ended)
    return known


def state_of(run_dir: Path, trial_id: str, seen: TrialLedger, *, ended: bool) -> TrialState:
    """One trial's state, from the ledger's view of it and whether it has a terminal record."""
    if ended and (seen.series == 1 or _ends_series(run_dir, trial_id, seen.series)):
        return "terminal"
    if seen.last in ("in_flight", "ambiguous"):
        return "ambiguous"
    return "pending" if seen.last == "closed" else "not_dispatched"


def anything_dispatched(run_dir: Path) -> bool:
    """Whether any trial of this run was ever sent. Counting sends no trial, so it may come before a freeze."""
    return any(seen.attempts for seen in ledger_state(run_dir).trials.values())


def ledger_state(run_dir: Path) -> LedgerState:
    """The folded ledger of a run, as it stands."""
    return read_state(run_dir / LEDGER_FILE)


def _ends_series(run_dir: Path, trial_id: str, series: int) -> bool:
    """Whether the record ends this series; one of an earlier series is about to be set aside."""
    terminal = read_terminal(trial_dir(run_dir, trial_id))
    return terminal is not None and terminal.series >= series
