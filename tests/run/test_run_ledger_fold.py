"""What the ledger says: every number of the fold by hand, for the turns that a run seldom takes."""

import pytest

from bench.run.ledger_fold import LedgerState
from bench.run.ledger_records import (
    BlockSetAside,
    Intent,
    LedgerLine,
    Pause,
    Resolve,
    Settle,
    Share,
    Stop,
    Unresolved,
    WindowOpened,
    WorkerGone,
)
from tests.run.run_fakes import opened, reserve

TODAY, TOMORROW = "2026-11-30", "2026-12-01"


def folded(*records: object, mono_ms: int = 1000, **limits: object) -> LedgerState:
    state = LedgerState()
    for seq, record in enumerate((opened(**limits), WindowOpened(TODAY, 10_000), *records), 1):
        state.apply(LedgerLine(seq, f"{TODAY}T12:00:00.000Z", mono_ms, record))
    return state


def sent(key: str, **changes: object) -> tuple[object, object]:
    return reserve(key, **changes), Intent(key)


def test_known_unresolved_and_in_flight_are_charged_together():
    """100 known, 200 unresolved, 400 in flight: 700."""
    state = folded(
        *sent("a", trial="ta", tokens=150),
        Settle("a", 100, "usage"),
        *sent("b", trial="tb", tokens=200),
        Unresolved("b", "ambiguous"),
        *sent("c", trial="tc", tokens=400),
    )
    assert (100, 200, 400, 700) == (state.known, state.unresolved, state.in_flight, state.charged)


def test_usage_that_comes_to_light_a_day_later_is_booked_on_its_own_day():
    """Left unresolved today and settled tomorrow: yesterday's usage, and nothing of tomorrow's budget."""
    state = folded(
        *sent("a", tokens=900), Unresolved("a", "ambiguous"), WindowOpened(TOMORROW, 10_000), Settle("a", 800, "usage")
    )
    assert (0, 0, {TODAY: 800}) == (state.carried, state.charged, state.known_by_window)


@pytest.mark.parametrize(("decided", "known"), [(70, 70), (0, 0), (None, 500)])
def test_a_person_decides_once_for_all_attempts_of_a_trial(decided, known):
    """Two ambiguous attempts of 200 and 300: the tokens named, once; without a number both reservations whole."""
    state = folded(
        *sent("a", tokens=200),
        Unresolved("a", "ambiguous"),
        *sent("b", tokens=300, attempt=2),
        Unresolved("b", "ambiguous"),
        Resolve("t1", decided),
    )
    assert (known, 0, "resolved") == (state.known, state.unresolved, state.trials["t1"].last)
    assert not state.open


def test_a_shorter_pause_does_not_end_a_longer_one():
    """Two workers are told to wait; the later end holds."""
    state = folded(Pause(9000, 8.0, "t1", "HTTP 429"), Pause(4000, 3.0, "t2", "HTTP 429"))
    assert 9000 == state.pause_until_ms


@pytest.mark.parametrize(("boot", "kept"), [("boot", True), ("another", False)])
def test_rates_and_pauses_end_with_the_clock_they_were_measured_by(boot, kept):
    """A new session on the same start of the machine keeps them; a restarted machine counts from 0 again."""
    state = folded(*sent("a", tokens=90), Pause(9000, 8.0, "t1", "HTTP 429"), opened("i2", boot=boot), max_rpm=60)
    assert (kept, 9000 if kept else 0) == (bool(state.rate.total_tokens), state.pause_until_ms)


def test_a_new_session_inherits_no_block_and_no_unsent_reservation():
    """Reserved is free again; a generation in flight may have been billed; a count in flight costs nothing."""
    state = folded(
        BlockSetAside(1, "gw0", (Share("t1", 1, 2, 100),)),
        reserve("a", trial="ta", tokens=100),
        *sent("b", trial="tb", tokens=200),
        *sent("c", trial="tc", tokens=0, purpose="count"),
        opened("i2"),
    )
    assert (0, 200, {}) == (state.in_flight, state.unresolved, state.blocks)
    assert ["b"] == list(state.open)
    assert ("closed", "ambiguous", "none") == tuple(state.trials[name].last for name in ("ta", "tb", "tc"))


def test_a_dead_worker_leaves_the_others_alone():
    """Its block and its reservations go; those of its neighbour stand."""
    share = (Share("t1", 1, 2, 100),)
    state = folded(
        BlockSetAside(1, "gw0", share),
        BlockSetAside(2, "gw1", share),
        *sent("a", trial="ta", tokens=100),
        *sent("b", trial="tb", tokens=200, worker="gw1"),
        WorkerGone("gw0"),
    )
    assert ([2], 200, 100) == (list(state.blocks), state.in_flight, state.unresolved)


def test_a_stop_of_blocks_can_become_one_of_everything_and_not_the_reverse():
    """The cap first, then the key: the key is why. The key first: the cap changes nothing."""
    blocks, everything = Stop("i1", "cap", "blocks", "x"), Stop("i1", "key", "all", "y")
    assert everything == folded(blocks, everything).invocation.stop
    assert everything == folded(everything, blocks).invocation.stop
    assert everything == folded(everything, Stop("i1", "interrupt", "all", "z")).invocation.stop


@pytest.mark.parametrize(("reason", "left"), [("stopped", 0), ("rejected", 1)])
@pytest.mark.parametrize("purpose", ["generate", "count"])
def test_an_attempt_that_stopped_the_session_uses_up_no_try(purpose, reason, left):
    """A wrong key is not the trial's fault; a refused request is."""
    trial = folded(*sent("a", purpose=purpose), Settle("a", 0, reason)).trials["t1"]
    assert left == (trial.series_attempts if purpose == "generate" else trial.series_counts)
    assert 1 == trial.attempts + trial.counts


def test_a_count_uses_an_attempt_of_its_share_and_a_generation_the_rest():
    """One call, two attempts and 100 tokens were set aside."""
    share = BlockSetAside(1, "gw0", (Share("t1", 1, 2, 100),))
    counted = (*sent("a", tokens=0, purpose="count", block=1), Settle("a", 0, "counted"))
    assert (1, 1, 100) == folded(share, *counted).set_aside()
    assert (0, 0, 0) == folded(share, *counted, *sent("b", tokens=80, block=1)).set_aside()
    assert (0, 0, 0) == folded(share).set_aside(besides=1)
