"""How far a run is, as lines for a person. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.run.status import LedgerTotals, RunStatus

SHOWN_ID = 16


def status_lines(state: RunStatus) -> Iterator[str]:
    """What has ended, what is left, what is unclear and what it took."""
    yield f"{state.run_dir}: {state.terminal} of {state.planned} trials ended, {state.evaluable} can be judged"
    if state.endings:
        yield "endings: " + ", ".join(f"{ending} {count}" for ending, count in sorted(state.endings.items()))
    unclear = "in flight or ambiguous (a session is running)" if state.locked else "ambiguous"
    yield f"pending: {state.pending}; {unclear}: {len(state.ambiguous)}"
    for trial in () if state.locked else state.ambiguous:
        yield f"  ambiguous: {trial[:SHOWN_ID]} (send again: --retry-ambiguous; close as missing: locality resolve)"
    yield from _ledger_lines(state.ledger)


def _ledger_lines(ledger: LedgerTotals) -> Iterator[str]:
    if ledger.bound_backend is None:
        yield "nothing was sent yet"
        return
    cap = "no cap" if ledger.cap is None else f"cap {ledger.cap:,}"
    yield (
        f"backend {ledger.bound_backend}; window {ledger.window} ({cap}): {ledger.known_tokens:,} tokens known, "
        f"{ledger.unresolved_tokens:,} unresolved, {ledger.in_flight_tokens:,} in flight"
    )
    if ledger.carried_tokens:
        yield f"unresolved from earlier days: {ledger.carried_tokens:,} (locality resolve, or --accept-carryover)"
    if ledger.last_stop:
        yield f"last stop: {ledger.last_stop}"
