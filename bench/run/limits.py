"""Whether something may be sent now, must wait, or may not be sent any more. Pure decisions on the folded ledger.

No waiting and no files here. Caps count what is known, unresolved, in flight and asked for; blocks are begun whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bench.run.ledger_records import BlockSetAside, Intent, Reserve, Stop, WindowOpened

if TYPE_CHECKING:
    from bench.run.clock import Instant
    from bench.run.ledger_fold import InvocationLedger, LedgerState
    from bench.run.ledger_records import Record, Share

POLL_S = 0.02
SUPERSEDED = "another session has begun"


@dataclass(frozen=True, slots=True)
class Grant:
    """Go on; these records make it so."""

    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again in ``seconds``. ``paused``: a server asked for it, so that the caller adds its own jitter."""

    seconds: float
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Halt:
    """Nothing is sent, and why; ``records`` tell the others."""

    reason: str
    detail: str
    records: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockAsk:
    """A worker wants to begin a block: the shares of its pending trials, in schedule order."""

    invocation: str
    worker: str
    block: int
    shares: tuple[Share, ...]


def admit_attempt(
    state: LedgerState, ask: Reserve, *, invocation: str, now: Instant, closes: frozenset[str] = frozenset()
) -> Grant | Wait | Halt:
    """Whether this attempt may be reserved and sent, with the records that reserve it.

    ``closes`` are the attempts that the same write closes before it.
    """
    if (halt := _halted(state, invocation, now)) is not None:
        return halt
    running = _invocation(state)
    if running.stop is not None and ask.trial not in _shares_of(state, ask.block):
        return Halt(running.stop.reason, running.stop.detail)
    if running.first_key is not None and not running.first_closed and running.first_key not in closes:
        return Wait(POLL_S)
    if now.mono_ms < state.pause_until_ms:
        return Wait((state.pause_until_ms - now.mono_ms) / 1000, paused=True)
    verdict = _within_caps(state, running, ask, now)
    if verdict is not None:
        return verdict
    return _within_rates(state, running, ask, now) or Grant((*_window(state, now), ask, Intent(ask.key)))


def admit_block(state: LedgerState, ask: BlockAsk, *, now: Instant) -> Grant | Wait | Halt:
    """Whether a block may be begun: it must fit whole; only the first of an invocation may begin in part."""
    if (halt := _halted(state, ask.invocation, now)) is not None:
        return halt
    running = _invocation(state)
    if running.stop is not None:
        return Halt(running.stop.reason, running.stop.detail)
    room = _room(state, running, now)
    aside = state.set_aside(besides=ask.block)
    if _fits(ask.shares, _minus(room.now, aside)):
        return Grant((*_window(state, now), BlockSetAside(ask.block, ask.worker, ask.shares)))
    if _fits(ask.shares, room.idle):
        return Wait(POLL_S)
    halt = _cap_halt(running, f"block {ask.block} does not fit into what the caps leave")
    if running.blocks_begun == 0 and (part := _prefix(ask.shares, room.now)):
        return Grant((*_window(state, now), BlockSetAside(ask.block, ask.worker, part), *halt.records))
    return halt


@dataclass(frozen=True, slots=True)
class _Room:
    """Calls, attempts and tokens left (None: no cap), ``now`` and once nothing is in flight any more."""

    now: tuple[int | None, int | None, int | None]
    idle: tuple[int | None, int | None, int | None]


def _room(state: LedgerState, running: InvocationLedger, now: Instant) -> _Room:
    opened = running.opened
    calls = None if opened.max_generation_calls is None else opened.max_generation_calls - running.calls
    attempts = None if opened.max_http_attempts is None else opened.max_http_attempts - running.attempts
    if state.cap is None:
        return _Room((calls, attempts, None), (calls, attempts, None))
    spent = 0 if _window(state, now) else state.known + state.unresolved
    idle = state.cap - spent
    return _Room((calls, attempts, idle - state.in_flight), (calls, attempts, idle))


def _fits(shares: tuple[Share, ...], room: tuple[int | None, int | None, int | None]) -> bool:
    need = (sum(s.calls for s in shares), sum(s.attempts for s in shares), sum(s.tokens for s in shares))
    return all(left is None or wanted <= left for wanted, left in zip(need, room, strict=True))


def _minus(
    room: tuple[int | None, int | None, int | None], aside: tuple[int, int, int]
) -> tuple[int | None, int | None, int | None]:
    calls, attempts, tokens = (None if left is None else left - out for left, out in zip(room, aside, strict=True))
    return calls, attempts, tokens


def _prefix(shares: tuple[Share, ...], room: tuple[int | None, int | None, int | None]) -> tuple[Share, ...]:
    count = len(shares)
    while count and not _fits(shares[:count], room):
        count -= 1
    return shares[:count]


def _within_caps(state: LedgerState, running: InvocationLedger, ask: Reserve, now: Instant) -> Wait | Halt | None:
    room = _room(state, running, now)
    calls = int(ask.purpose == "generate" and _is_new_call(state, running, ask))
    need = (calls, 1, ask.tokens)
    for wanted, left, idle, name in zip(need, room.now, room.idle, _CAP_NAMES, strict=True):
        if left is None or idle is None or wanted == 0 or wanted <= left:
            continue
        if wanted <= idle:
            return Wait(POLL_S)
        return _cap_halt(running, f"{name} leaves {max(0, idle)}, the next attempt needs {wanted}")
    return None


_CAP_NAMES = ("--max-generation-calls", "--max-http-attempts", "--local-token-cap")


def _is_new_call(state: LedgerState, running: InvocationLedger, ask: Reserve) -> bool:
    trial = state.trials.get(ask.trial)
    return trial is None or trial.last_invocation != running.opened.invocation


def _within_rates(state: LedgerState, running: InvocationLedger, ask: Reserve, now: Instant) -> Wait | Halt | None:
    opened = running.opened
    if opened.max_tpm is not None and ask.tokens > opened.max_tpm:
        return _cap_halt(running, f"one attempt reserves {ask.tokens} tokens, above --max-tpm {opened.max_tpm}")
    wait_ms = state.rate.wait_ms(tokens=ask.tokens, max_rpm=opened.max_rpm, max_tpm=opened.max_tpm, mono_ms=now.mono_ms)
    return Wait(wait_ms / 1000) if wait_ms else None


def _halted(state: LedgerState, invocation: str, now: Instant) -> Halt | None:
    """What keeps everybody from sending, whatever they ask for."""
    running = state.invocation
    if running is None or running.opened.invocation != invocation:
        return Halt("superseded", SUPERSEDED)
    if running.stop is not None and running.stop.scope == "all":
        return Halt(running.stop.reason, running.stop.detail)
    carried = state.carried + (state.unresolved if _window(state, now) else 0)
    if carried and not running.opened.accept_carryover:
        return _cap_halt(running, f"{carried} tokens of an earlier day are unresolved", scope="all")
    return None


def _invocation(state: LedgerState) -> InvocationLedger:
    if state.invocation is None:  # _halted has answered for that
        raise AssertionError
    return state.invocation


def _shares_of(state: LedgerState, block: int | None) -> dict[str, tuple[int, int, int]]:
    shares = None if block is None else state.blocks.get(block)
    return {} if shares is None else shares.left


def _window(state: LedgerState, now: Instant) -> tuple[WindowOpened, ...]:
    """The record that opens a new window, if the UTC date has moved on; a clock that jumps back opens none."""
    if state.window is not None and now.date <= state.window:
        return ()
    return (WindowOpened(now.date, state.cap),)


def _cap_halt(running: InvocationLedger, detail: str, *, scope: Literal["all", "blocks"] = "blocks") -> Halt:
    """A stop by cap, told to the others once. Blocks that were begun go on unless its scope is ``all``."""
    known = running.stop is not None and scope == "blocks"
    return Halt("cap", detail, () if known else (Stop(running.opened.invocation, "cap", scope, detail),))
