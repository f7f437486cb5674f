"""One trial against a scripted server: what ends it, what is sent again, what is booked."""

from pathlib import Path

import pytest

from bench.llm.model import DecodeError
from bench.llm.responses import COUNT_PATH, GENERATE_PATH
from bench.run.records_io import read_count, read_meta, read_run_terminal, trial_dir
from bench.run.trial import TrialResult, run_trial
from tests.run.run_fakes import (
    LOST,
    REFUSED,
    Answer,
    FakeClient,
    FakeClock,
    answer,
    api_error,
    bench_on,
    raw,
)


def outcome(run_dir: Path, *answers: Answer, counted: Answer | int = 100, **limits: object):
    """The result of the first smoke trial, and the bench it ran on."""
    clock = FakeClock()
    bench = bench_on(run_dir, FakeClient(*answers, counted=counted, clock=clock), clock=clock, **limits)
    return run_trial(bench.trial(), bench.client, bench.session, bench.store), bench


def test_an_answered_trial_counts_once_generates_once_and_books_the_actual_usage(run_dir):
    """Count, then generate; the reservation gives way to what the server says it used."""
    result, bench = outcome(run_dir, answer("4242", tokens=(90, 7)))
    assert (result.state, result.ending) == ("terminal", "answered")
    assert bench.client.sent == [COUNT_PATH, GENERATE_PATH]
    state = bench.ledger.refresh()
    assert (state.known, state.in_flight, state.unresolved) == (97, 0, 0)
    terminal = read_run_terminal(run_dir, result.trial_id)
    assert (terminal.text, terminal.counted_input_tokens, terminal.series) == ("4242", 100, 1)
    assert [timing.number for timing in terminal.attempts] == [1]


def test_the_request_on_disk_is_the_one_that_was_planned(run_dir):
    """request.json holds the exact bytes whose hash stands in the schedule."""
    result, bench = outcome(run_dir)
    import hashlib

    body = (trial_dir(run_dir, result.trial_id) / "request.json").read_bytes()
    assert hashlib.sha256(body).hexdigest() == bench.plan.schedule[0].request_sha256


@pytest.mark.parametrize(
    ("came", "ending"),
    [
        (answer("4242"), "answered"),
        (answer("garbage nobody asked for"), "answered"),
        (answer("", output=[]), "no_text"),
        (answer("12", status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "incomplete"),
        (answer("", output=[{"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}]), "refusal"),
        (api_error(400, "context_length_exceeded"), "api_rejected"),
        (api_error(302), "api_rejected"),
        (answer("", status="failed", error={"code": "server_error", "message": "x"}), "api_rejected"),
        (raw(200, b"{not json"), "decode_failure"),
        (DecodeError("Content-Encoding gzip", 200, None, b""), "decode_failure"),
        (REFUSED, "transport_failure"),
    ],
)  # fmt: skip
def test_what_ends_a_trial_ends_it_after_one_generation(run_dir, came, ending):
    """Wrong, refused, cut off or broken: an outcome is recorded, never sent again."""
    result, bench = outcome(run_dir, came)
    assert (result.state, result.ending, bench.client.generations) == ("terminal", ending, 1)
    again = run_trial(bench.trial(), bench.client, bench.session, bench.store)
    assert (again.state, again.ending, bench.client.generations) == ("terminal", ending, 1)


@pytest.mark.parametrize(
    ("came", "known", "unresolved"),
    [
        (answer("1", tokens=None), 0, True),
        (api_error(400, "context_length_exceeded"), 0, False),
        (raw(200, b"{not json"), 0, True),
        (REFUSED, 0, False),
        (LOST, 0, True),
        (answer("", status="failed", error={"code": "server_error", "message": "x"}, tokens=(90, 7)), 97, False),
    ],
)
def test_a_reservation_is_freed_only_where_nothing_can_have_been_billed(run_dir, came, known, unresolved):
    """Usage unknown is never 0."""
    _, bench = outcome(run_dir, came)
    state = bench.ledger.refresh()
    reserved = 100 + 8192 + 256
    assert (state.known, state.unresolved, state.in_flight) == (known, reserved if unresolved else 0, 0)


@pytest.mark.parametrize(
    ("came", "reason"),
    [
        (api_error(401, "invalid_api_key"), "key"),
        (api_error(403), "key"),
        (api_error(404, "model_not_found"), "parameter"),
        (api_error(429, "insufficient_quota"), "quota"),
        (api_error(400, "unsupported_parameter"), "parameter"),
    ],
)
def test_a_wrong_key_or_an_empty_quota_stops_the_session_and_burns_no_trial(run_dir, came, reason):
    """One request; the trial stays pending; the next one is not sent."""
    result, bench = outcome(run_dir, came)
    assert (result.state, result.reason, bench.client.generations) == ("pending", reason, 1)
    assert read_run_terminal(run_dir, result.trial_id) is None
    following = run_trial(bench.trial(1), bench.client, bench.session, bench.store)
    assert (following.state, following.reason, bench.client.generations) == ("not_dispatched", reason, 1)
    state = bench.ledger.refresh()
    assert (state.charged, state.trials[result.trial_id].series_attempts) == (0, 0)


def test_a_wrong_key_met_while_counting_costs_that_one_request(run_dir):
    """The first HTTP attempt is a count; a 401 there stops everything."""
    result, bench = outcome(run_dir, counted=api_error(401))
    assert (result.state, result.reason, bench.client.sent) == ("pending", "key", [COUNT_PATH])


def test_a_rate_limit_is_waited_out_and_the_trial_goes_on(run_dir):
    """429 rate_limit_exceeded with Retry-After 7: no earlier than 7 s later, then the answer."""
    result, bench = outcome(run_dir, api_error(429, "rate_limit_exceeded", retry_after="7"), answer("4242"))
    assert (result.state, result.ending, bench.client.generations) == ("terminal", "answered", 2)
    terminal = read_run_terminal(run_dir, result.trial_id)
    assert terminal.backoff_s >= 7
    assert [timing.retry_reason for timing in terminal.attempts] == ["HTTP 429 rate_limit_exceeded", None]
    assert bench.ledger.refresh().charged == 105


def test_four_server_errors_end_a_trial_and_each_stays_charged(run_dir):
    """5xx: retried three times; every reservation may have been billed."""
    result, bench = outcome(run_dir, api_error(500))
    assert (result.ending, bench.client.generations) == ("api_rejected", 4)
    assert bench.ledger.refresh().unresolved == 4 * (100 + 8192 + 256)


def test_a_wait_beyond_600_s_is_not_begun(run_dir):
    """Retry-After 601: the trial ends now instead of waiting less than it was asked to."""
    result, bench = outcome(run_dir, api_error(429, "rate_limit_exceeded", retry_after="601"))
    assert (result.ending, bench.client.generations, bench.clock.slept) == ("api_rejected", 1, [])


def test_a_lost_connection_is_ambiguous_and_never_sent_again_by_itself(run_dir):
    """It may have been billed: the reservation stays, the trial has no terminal record."""
    result, bench = outcome(run_dir, LOST)
    assert (result.state, read_run_terminal(run_dir, result.trial_id)) == ("ambiguous", None)
    again = run_trial(bench.trial(), bench.client, bench.session, bench.store)
    assert (again.state, bench.client.generations) == ("ambiguous", 1)


def test_retry_ambiguous_sends_once_more_and_keeps_the_old_reservation(run_dir):
    """On request only: a new series, a new attempt, the first reservation still charged."""
    outcome(run_dir, LOST)
    client = FakeClient(answer("4242"))
    bench = bench_on(run_dir, client, retry_ambiguous=True)
    result = run_trial(bench.trial(), client, bench.session, bench.store)
    assert (result.ending, client.generations) == ("answered", 1)
    state = bench.ledger.refresh()
    assert (state.known, state.unresolved) == (105, 100 + 8192 + 256)
    assert read_run_terminal(run_dir, result.trial_id).series == 2


def test_retry_failed_begins_a_new_series_and_keeps_the_old_record(run_dir):
    """Infrastructure outcomes are sent again on request; attempts go on counting, nothing is overwritten."""
    outcome(run_dir, raw(200, b"{not json"))
    client = FakeClient(answer("4242"))
    bench = bench_on(run_dir, client, retry_failed=True)
    result = run_trial(bench.trial(), client, bench.session, bench.store)
    folder = trial_dir(run_dir, result.trial_id)
    assert (result.ending, read_meta(folder, 2).series) == ("answered", 2)
    assert (folder / "terminal-series-1.json").exists()
    assert (folder / "attempt-001-body.txt").read_bytes() == b"{not json"


def test_retry_failed_leaves_model_outcomes_alone(run_dir):
    """A wrong or empty answer is an answer."""
    outcome(run_dir, answer("", output=[]))
    client = FakeClient(answer("4242"))
    bench = bench_on(run_dir, client, retry_failed=True)
    assert run_trial(bench.trial(), client, bench.session, bench.store).ending == "no_text"
    assert client.sent == []


def test_input_above_the_count_is_booked_as_it_is_and_stops_the_session(run_dir):
    """Counted 100, billed 357: above the margin of 256, so that no further reservation can be trusted."""
    result, bench = outcome(run_dir, answer("4242", tokens=(357, 5)))
    assert (result.ending, bench.ledger.refresh().known) == ("answered", 362)
    following = run_trial(bench.trial(1), bench.client, bench.session, bench.store)
    assert (following.state, following.reason) == ("not_dispatched", "input_above_count")


def test_input_within_the_margin_goes_on(run_dir):
    """Counted 100, billed 356: allowed for."""
    _, bench = outcome(run_dir, answer("4242", tokens=(356, 5)))
    assert bench.ledger.refresh().invocation.stop is None


def test_a_request_that_was_counted_before_is_not_counted_again(run_dir):
    """The cache goes by request hash: the second invocation reserves by the first one's count."""
    outcome(run_dir, LOST)
    client = FakeClient(answer("4242"))
    bench = bench_on(run_dir, client, retry_ambiguous=True)
    result = run_trial(bench.trial(), client, bench.session, bench.store)
    assert client.sent == [GENERATE_PATH]
    assert read_count(trial_dir(run_dir, result.trial_id)).cached is True


def test_soft_budget_never_counts_and_reserves_by_length(run_dir):
    """Counting unavailable: bytes stand in for tokens, and an input above them does not stop the session."""
    _, bench = outcome(run_dir, answer("1", tokens=None), soft_budget=True)
    assert bench.client.sent == [GENERATE_PATH]
    assert bench.ledger.refresh().unresolved == len(bench.trial().body) + 8192 + 256


def test_a_count_whose_answer_got_lost_is_asked_again(run_dir):
    """Counting bills nothing, so that there is nothing ambiguous about it."""
    clock = FakeClock()
    client = FakeClient(answer("4242"), counted=LOST, clock=clock)
    bench = bench_on(run_dir, client, clock=clock)
    result = run_trial(bench.trial(), client, bench.session, bench.store)
    assert (result.ending, client.sent) == ("transport_failure", [COUNT_PATH] * 4)


def test_a_body_that_carries_a_secret_is_stored_without_it(run_dir):
    """Text of the answer goes through the redactor before it is written, and the record says so."""
    result, _ = outcome(run_dir, answer("the key is sk-sentinel"))
    terminal = read_run_terminal(run_dir, result.trial_id)
    assert (terminal.text, terminal.redacted) == ("the key is [redacted]", True)


def test_replicates_are_two_trials_and_generate_twice(run_dir):
    """A count may be shared, an answer never: two trials with one request are two generations."""
    bench = bench_on(run_dir, client := FakeClient(answer("4242")))
    for position in (0, 1):
        run_trial(bench.trial(position), client, bench.session, bench.store)
    assert client.generations == 2


def test_results_travel_in_plain_ascii(run_dir):
    """Whatever a server calls its error, the reason that goes into a report is short ASCII."""
    result, _ = outcome(run_dir, api_error(400, "pr\u00e4fix\U0001f600" * 50))
    assert isinstance(result, TrialResult)
    assert result.reason.isascii()
    assert len(result.reason) < 100
