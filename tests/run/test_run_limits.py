"""Caps, blocks and rates as pure decisions on a folded ledger."""

import pytest

from bench.run.clock import Instant
from bench.run.ledger_fold import LedgerState
from bench.run.ledger_records import (
    BlockSetAside,
    Intent,
    LedgerLine,
    Pause,
    Settle,
    Share,
    Stop,
    Unresolved,
    WindowOpened,
    WorkerGone,
)
from bench.run.limits import BlockAsk, Grant, Halt, Wait, admit_attempt, admit_block
from bench.run.throttle import RateWindow
from tests.run.run_fakes import opened, reserve

TODAY, TOMORROW = "2026-11-30", "2026-12-01"
FIRST_DONE = (reserve("first", trial="t0", tokens=0, purpose="count"), Intent("first"), Settle("first", 0, "counted"))


def folded(*records: object, cap: int | None = 1000, mono_ms: int = 1000, **limits: object) -> LedgerState:
    state = LedgerState()
    for seq, record in enumerate((opened(**limits), WindowOpened(TODAY, cap), *records), 1):
        state.apply(LedgerLine(seq, f"{TODAY}T12:00:00.000Z", mono_ms, record))
    return state


def at(mono_ms: int = 1000, date: str = TODAY) -> Instant:
    return Instant(mono_ms, f"{date}T12:00:00.000Z")


def ask(state: LedgerState, tokens: int = 100, *, now: Instant | None = None, trial: str = "t1", **changes: object):
    return admit_attempt(state, reserve("k", trial=trial, tokens=tokens, **changes), invocation="i1", now=now or at())


def ask_block(state: LedgerState, *tokens: int, block: int = 1, now: Instant | None = None):
    shares = tuple(Share(f"b{block}t{n}", 1, 2, size) for n, size in enumerate(tokens))
    return admit_block(state, BlockAsk("i1", "gw1", block, shares), now=now or at())


@pytest.mark.parametrize(("tokens", "kind"), [(1000, Grant), (1001, Halt)])
def test_the_token_cap_is_reached_exactly_and_never_passed(tokens, kind):
    """known + unresolved + in flight + new <= cap."""
    assert isinstance(ask(folded(*FIRST_DONE), tokens), kind)


def test_a_reservation_and_its_intent_are_one_decision():
    """Both records of a grant go out in one write."""
    verdict = ask(folded(*FIRST_DONE))
    assert [type(record) for record in verdict.records] == [type(reserve("k")), Intent]


def test_what_only_waits_for_others_waits_and_what_can_never_fit_stops():
    """In flight may return; known and unresolved never do."""
    busy = folded(*FIRST_DONE, reserve("a", trial="ta", tokens=600), Intent("a"))
    assert isinstance(ask(busy, 500), Wait)
    spent = folded(*FIRST_DONE, reserve("a", trial="ta", tokens=600), Intent("a"), Unresolved("a", "server_error"))
    assert ask(spent, 500).reason == "cap"


def test_calls_count_trials_begun_and_attempts_count_everything():
    """A retry of a trial is an attempt, never a second call."""
    tried = (reserve("a", tokens=10), Intent("a"), Settle("a", 0, "rejected"))
    one_call = folded(*tried, max_generation_calls=1)
    assert isinstance(ask(one_call, trial="t1", attempt=2), Grant)
    assert ask(one_call, trial="t2").reason == "cap"
    assert ask(folded(*tried, max_http_attempts=1), trial="t1", attempt=2).reason == "cap"


def test_the_first_attempt_of_an_invocation_goes_out_alone():
    """A wrong key costs one request: nobody else sends until it is back."""
    sent = folded(reserve("first", trial="t0", purpose="count", tokens=0), Intent("first"))
    assert isinstance(ask(sent), Wait)
    assert isinstance(ask(folded(*FIRST_DONE)), Grant)


def test_the_first_generation_of_an_invocation_goes_out_alone_too():
    """An empty quota shows there only, for counting is free: it costs one generation, however many workers wait."""
    counted = (reserve("count", trial="t0", purpose="count", tokens=0), Intent("count"), Settle("count", 0, "counted"))
    sent = (reserve("first", trial="t0"), Intent("first"))
    assert isinstance(ask(folded(*counted)), Grant)
    assert isinstance(ask(folded(*counted, *sent)), Wait)
    assert isinstance(ask(folded(*counted, *sent, Settle("first", 100, "usage"))), Grant)


def test_the_first_attempt_of_a_dead_worker_holds_nobody_up():
    """The death of the worker closes its attempt."""
    dead = folded(reserve("first", trial="t0", worker="gw7"), Intent("first"), WorkerGone("gw7"))
    assert isinstance(ask(dead), Grant)


def test_a_stop_is_looked_at_before_every_dispatch():
    """Also by a worker in the midst of its block."""
    stopped = folded(*FIRST_DONE, BlockSetAside(1, "gw1", (Share("t1", 1, 2, 100),)), Stop("i1", "quota", "all", "x"))
    assert ask(stopped, block=1).reason == "quota"
    assert ask_block(stopped, 1).reason == "quota"


def test_a_stop_holds_for_its_invocation_only():
    """The next start begins with a clean slate; an old worker that lives on is refused."""
    state = folded(*FIRST_DONE, Stop("i1", "interrupt", "all", "x"))
    state.apply(LedgerLine(state.seq + 1, f"{TODAY}T12:00:00.000Z", 1000, opened("i2")))
    assert isinstance(admit_attempt(state, reserve("k"), invocation="i2", now=at()), Grant)
    assert admit_attempt(state, reserve("k"), invocation="i1", now=at()).reason == "superseded"


def test_a_pause_holds_everybody():
    """One "not before" for all workers."""
    verdict = ask(folded(*FIRST_DONE, Pause(4000, 3.0, "t9", "HTTP 429")))
    assert (verdict.seconds, verdict.paused) == (3.0, True)
    assert isinstance(ask(folded(*FIRST_DONE, Pause(4000, 3.0, "t9", "HTTP 429")), now=at(4000)), Grant)


def test_a_block_is_begun_whole_or_not_at_all():
    """A stop between blocks is the normal end of a budget; begun blocks go on to theirs."""
    begun = folded(*FIRST_DONE, BlockSetAside(0, "gw0", (Share("t1", 1, 2, 400),)))
    assert isinstance(ask_block(begun, 300, 300), Grant)
    assert isinstance(ask_block(begun, 300, 301), Wait)
    stop = ask_block(begun, 600, 401)
    assert (stop.reason, stop.records[0].scope) == ("cap", "blocks")
    begun.apply(LedgerLine(begun.seq + 1, f"{TODAY}T12:00:00.000Z", 1000, stop.records[0]))
    assert isinstance(ask(begun, 400, block=0), Grant)
    assert ask(begun, 1, trial="elsewhere").reason == "cap"
    assert ask_block(begun, 1).reason == "cap"


def test_only_the_first_block_of_an_invocation_may_begin_in_part():
    """A cap too small for one block still sends what fits, in schedule order, and then stops."""
    verdict = ask_block(folded(), 400, 400, 400)
    block, stop = verdict.records
    assert ([share.trial for share in block.shares], stop.reason) == (["b1t0", "b1t1"], "cap")


def test_nothing_fits_at_all():
    """Not even one trial: no block, a stop."""
    assert ask_block(folded(), 1001).reason == "cap"


@pytest.mark.parametrize(("calls", "attempts", "kind"), [(2, 4, Grant), (1, 4, Halt), (2, 3, Halt)])
def test_a_block_asks_for_calls_and_attempts_too(calls, attempts, kind):
    """Two attempts per uncounted trial."""
    state = folded(max_generation_calls=calls, max_http_attempts=attempts)
    state.invocation.blocks_begun = 1
    assert isinstance(ask_block(state, 1, 1), kind)


def test_a_replacement_block_does_not_compete_with_the_one_it_replaces():
    """Its worker died: the same block asked for again by another worker fits where the old one stood."""
    begun = folded(*FIRST_DONE, BlockSetAside(1, "gw0", (Share("b1t0", 1, 2, 900),)))
    assert isinstance(ask_block(begun, 900, block=1), Grant)


def test_a_new_day_opens_a_window_with_a_fresh_budget():
    """The first decision after midnight UTC opens it, at the same cap."""
    spent = folded(*FIRST_DONE, reserve("a", trial="ta", tokens=900), Intent("a"), Settle("a", 900, "usage"))
    assert ask(spent, 200).reason == "cap"
    verdict = ask(spent, 200, now=at(date=TOMORROW))
    assert verdict.records[0] == WindowOpened(TOMORROW, 1000)


def test_a_clock_that_jumps_back_opens_nothing_and_frees_nothing():
    """Yesterday again: the window stays, and so does what was spent in it."""
    spent = folded(*FIRST_DONE, reserve("a", trial="ta", tokens=900), Intent("a"), Settle("a", 900, "usage"))
    assert ask(spent, 200, now=at(date="2026-11-29")).reason == "cap"
    assert len(ask(spent, 100, now=at(date="2026-11-29")).records) == 2


def test_unresolved_reservations_of_an_earlier_day_block_sending_until_accepted():
    """They are neither forgotten at midnight nor mixed into today's budget."""
    left = (*FIRST_DONE, reserve("a", trial="ta", tokens=900), Intent("a"), Unresolved("a", "ambiguous"))
    assert "earlier day" in ask(folded(*left), 1, now=at(date=TOMORROW)).detail
    accepted = folded(*left, accept_carryover=True)
    assert isinstance(ask(accepted, 1000, now=at(date=TOMORROW)), Grant)
    accepted.apply(LedgerLine(accepted.seq + 1, f"{TOMORROW}T00:00:00.000Z", 1000, WindowOpened(TOMORROW, 1000)))
    assert (accepted.carried, accepted.charged) == (900, 0)


def test_what_is_in_flight_at_midnight_stays_charged_and_is_booked_where_it_ends():
    """Nothing is freed that may have been spent."""
    state = folded(*FIRST_DONE, reserve("a", trial="ta", tokens=900), Intent("a"))
    for record in (WindowOpened(TOMORROW, 1000), Settle("a", 800, "usage")):
        state.apply(LedgerLine(state.seq + 1, f"{TOMORROW}T00:00:00.000Z", 1000, record))
    assert (state.charged, state.known_by_window) == (800, {TODAY: 0, TOMORROW: 800})


def test_requests_per_minute_count_all_attempts():
    """Three a minute: the fourth waits for the first to be a minute old."""
    sent = [r for n in range(3) for r in (reserve(f"k{n}", trial=f"x{n}", tokens=0, purpose="count"), Intent(f"k{n}"), Settle(f"k{n}", 0, "counted"))]  # fmt: skip
    state = folded(*sent, max_rpm=3)
    assert ask(state, now=at(31_000)).seconds == 30.0
    assert isinstance(ask(state, now=at(61_000)), Grant)


def test_tokens_per_minute_count_reservations_until_they_are_settled():
    """A reservation of 900 that took 100 leaves room; until then 200 wait a minute, though nobody goes out alone."""
    generated = (*FIRST_DONE, reserve("g", trial="tg", tokens=0), Intent("g"), Settle("g", 0, "usage"))
    sent = (*generated, reserve("a", trial="ta", tokens=900), Intent("a"))
    assert ask(folded(*sent, cap=None, max_tpm=1000), 200).seconds == 60.0
    assert isinstance(ask(folded(*sent, Settle("a", 100, "usage"), cap=None, max_tpm=1000), 200), Grant)


def test_an_attempt_larger_than_the_minute_stops_instead_of_waiting_for_ever():
    """It would never fit."""
    assert "--max-tpm" in ask(folded(*FIRST_DONE, cap=None, max_tpm=1000), 1001).detail


def test_the_rate_window_forgets_and_corrects():
    """Sum and count follow the last 60 s; a correction of what has left does nothing."""
    window = RateWindow()
    window.add("a", tokens=10, mono_ms=0)
    window.add("b", tokens=20, mono_ms=30_000)
    window.correct("a", 5)
    assert window.total_tokens == 25
    window.add("c", tokens=1, mono_ms=60_000)
    window.correct("a", 500)
    assert window.total_tokens == 21
    assert window.wait_ms(tokens=1, max_rpm=1, max_tpm=None, mono_ms=60_000) == 60_000
    assert window.wait_ms(tokens=1, max_rpm=2, max_tpm=None, mono_ms=60_000) == 30_000
    assert window.wait_ms(tokens=5, max_rpm=None, max_tpm=25, mono_ms=60_000) == 30_000
    assert window.wait_ms(tokens=5, max_rpm=None, max_tpm=6, mono_ms=60_000) == 30_000
