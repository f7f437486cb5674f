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


def test_known_usage_of_a_day_is_the_sum_of_its_attempts():
    """100 and 30, in the day's sum as in the budget's."""
    state = folded(*sent("a"), Settle("a", 100, "usage"), *sent("b", attempt=2), Settle("b", 30, "usage"))
    assert (130, {TODAY: 130}) == (state.known, state.known_by_window)


def test_a_reservation_may_fill_the_cap_to_the_last_token():
    """10,000 of 10,000: no damage."""
    assert 10_000 == folded(*sent("a", tokens=4000), *sent("b", trial="tb", tokens=6000)).charged


def test_calls_are_trials_begun_and_attempts_everything_reserved():
    """Two trials, one of them counted and tried twice: two calls, four attempts."""
    state = folded(
        *sent("c", tokens=0, purpose="count"),
        Settle("c", 0, "counted"),
        *sent("a"),
        Settle("a", 0, "rejected"),
        *sent("b", attempt=2),
        *sent("d", trial="td"),
    )
    assert (2, 4) == (state.invocation.calls, state.invocation.attempts)


def test_a_new_series_counts_its_tries_from_the_start():
    """Numbers go on, tries begin again; what is only reserved says so."""
    first = (*sent("c", tokens=0, purpose="count"), *sent("a"), Settle("a", 0, "rejected"))
    trial = folded(*first, reserve("b", attempt=2, series=2)).trials["t1"]
    assert (2, 1, 0, "reserved") == (trial.attempts, trial.series_attempts, trial.series_counts, trial.last)
    trial = folded(*first, reserve("d", attempt=2, series=2, purpose="count", tokens=0)).trials["t1"]
    assert (2, 0, 1) == (trial.counts, trial.series_attempts, trial.series_counts)


def test_usage_that_comes_to_light_a_day_later_is_booked_on_its_own_day():
    """Left unresolved today and settled tomorrow: yesterday's usage, and nothing of tomorrow's budget."""
    state = folded(
        *sent("a", tokens=900), Unresolved("a", "ambiguous"), WindowOpened(TOMORROW, 10_000), Settle("a", 800, "usage")
    )
    assert (0, 0, {TODAY: 800}) == (state.carried, state.charged, state.known_by_window)


def test_usage_that_comes_to_light_on_the_same_day_counts_against_it():
    """Left unresolved and settled before midnight: 800 known, in the budget as in the day's sum."""
    state = folded(*sent("a", tokens=900), Unresolved("a", "ambiguous"), Settle("a", 800, "usage"))
    assert (800, 800, {TODAY: 800}) == (state.known, state.charged, state.known_by_window)


def test_what_is_unknown_of_two_days_is_carried_into_the_third():
    """200 of the first day and 300 of the second."""
    state = folded(
        *sent("a", trial="ta", tokens=200),
        Unresolved("a", "ambiguous"),
        WindowOpened(TOMORROW, 10_000),
        *sent("b", trial="tb", tokens=300),
        Unresolved("b", "ambiguous"),
        WindowOpened("2026-12-02", 10_000),
    )
    assert (500, 0) == (state.carried, state.charged)


def test_what_a_person_decides_a_day_later_is_booked_on_its_own_day():
    """Left unresolved today and resolved tomorrow: yesterday's usage, and nothing of tomorrow's budget."""
    state = folded(
        *sent("a", tokens=900), Unresolved("a", "ambiguous"), WindowOpened(TOMORROW, 10_000), Resolve("t1", 70)
    )
    assert (0, 0, {TODAY: 70}) == (state.carried, state.charged, state.known_by_window)


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


def test_a_decision_touches_only_what_is_unresolved_of_its_own_trial():
    """What the trial has in flight, and what another trial left unresolved, stay charged."""
    state = folded(
        *sent("a", tokens=200),
        Unresolved("a", "ambiguous"),
        *sent("b", tokens=300, attempt=2),
        *sent("c", trial="tc", tokens=400),
        Unresolved("c", "ambiguous"),
        Resolve("t1", 70),
    )
    assert (70, 400, 300) == (state.known, state.unresolved, state.in_flight)
    assert ["b", "c"] == list(state.open)


@pytest.mark.parametrize(
    ("reason", "last"), [("ambiguous", "ambiguous"), ("server_error", "closed"), ("usage_missing", "closed")]
)
def test_only_a_lost_answer_leaves_a_trial_ambiguous(reason, last):
    """An error of the server and an answer without usage are charged the same, but the trial knows how it ended."""
    assert last == folded(*sent("a"), Unresolved("a", reason)).trials["t1"].last


def test_the_last_generation_alone_says_how_a_trial_stands():
    """Usage of an earlier one that comes to light, and a count that ends, change nothing."""
    lost = (*sent("a"), Unresolved("a", "ambiguous"))
    counted = (*sent("c", tokens=0, purpose="count"), Settle("c", 0, "counted"))
    assert "ambiguous" == folded(*lost, *counted).trials["t1"].last
    assert "in_flight" == folded(*lost, *sent("b", attempt=2), Settle("a", 90, "usage")).trials["t1"].last


def test_counts_and_generations_are_numbered_apart():
    """The first count of a trial may come after its first generation."""
    trial = folded(*sent("a"), Settle("a", 90, "usage"), *sent("c", tokens=0, purpose="count")).trials["t1"]
    assert (1, 1) == (trial.attempts, trial.counts)


def test_only_the_end_of_the_attempt_that_goes_out_alone_lets_the_others_go():
    """A reservation that is given back beside it does not."""
    state = folded(reserve("b", trial="tb"), *sent("a"), Settle("b", 0, "not_sent"))
    assert ("a", False) == (state.invocation.first_key, state.invocation.first_closed)


def test_after_the_first_generation_none_goes_out_alone_again():
    """Neither a later generation nor one that follows a count."""
    first = (*sent("a"), Settle("a", 90, "usage"))
    counted = (*sent("c", trial="tb", tokens=0, purpose="count"), Settle("c", 0, "counted"))
    for state in (folded(*first, *sent("b", trial="tb")), folded(*first, *counted, *sent("b", trial="tb"))):
        assert ("a", True) == (state.invocation.first_key, state.invocation.first_closed)


def test_the_first_intent_binds_the_run_to_its_backend():
    """A reservation binds nothing, and a later session changes nothing."""
    assert folded(reserve("a")).bound_backend is None
    assert "live" == folded(*sent("a")).bound_backend
    assert "live" == folded(*sent("a"), opened("i2", backend="mock"), *sent("b", attempt=2)).bound_backend


def test_without_a_rate_limit_no_dispatch_is_remembered():
    """The window of the last minute is fed only where somebody asks for it."""
    kept = [folded(*sent("a"), **limits).rate.total_tokens for limits in ({}, {"max_rpm": 9}, {"max_tpm": 900})]
    assert [0, 100, 100] == kept


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


@pytest.mark.parametrize("end", [WorkerGone("gw0"), opened("i2")], ids=["death", "new session"])
def test_what_was_left_unresolved_stays_so_whoever_is_gone(end):
    """It may have been billed: neither the death of its worker nor the next session frees it."""
    state = folded(*sent("a", tokens=200), Unresolved("a", "usage_missing"), end)
    assert (200, ["a"], "closed") == (state.unresolved, list(state.open), state.trials["t1"].last)


def test_what_blocks_set_aside_is_added_up_each_number_for_itself():
    """Calls, attempts and tokens of all blocks but the one named."""
    one = BlockSetAside(1, "gw0", (Share("ta", 1, 2, 100), Share("tb", 1, 3, 200)))
    two = BlockSetAside(2, "gw1", (Share("tc", 1, 2, 400),))
    state = folded(one, two)
    assert ((3, 7, 700), (1, 2, 400)) == (state.set_aside(), state.set_aside(besides=1))


def test_a_block_is_begun_once_however_often_it_is_set_aside_and_ends_alone():
    """Replaced, it is the same block; without shares it is over, and its neighbour is not."""
    share = (Share("t1", 1, 2, 100),)
    one, two = BlockSetAside(1, "gw0", share), BlockSetAside(2, "gw1", share)
    state = folded(one, two, BlockSetAside(1, "gw2", share), BlockSetAside(2, "gw1", ()))
    assert (2, {1: "gw2"}) == (state.invocation.blocks_begun, {n: block.worker for n, block in state.blocks.items()})


def test_the_last_stop_is_remembered_whosever_it_is():
    """A stop of an invocation that is over stops nobody, and `status` still shows it."""
    old = Stop("i1", "quota", "all", "x")
    state = folded(opened("i2"), old)
    assert (old, None) == (state.last_stop, state.invocation.stop)


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
