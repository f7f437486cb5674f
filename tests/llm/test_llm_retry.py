"""The retry policy: what each error means, and how long to wait."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.llm.model import ApiError, DecodeError, TransportError
from bench.llm.retry import Stop, Wait, classify, decide, parse_retry_after, stop_kind

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def api(status, code=None, kind=None, *, param=None, retry_after=None, message="text") -> ApiError:
    return ApiError(status, code, kind, message, retry_after, None, b"", param=param)


def http_date(offset_s: float) -> str:
    return (NOW + timedelta(seconds=offset_s)).strftime("%a, %d %b %Y %H:%M:%S GMT")


RATE = api(429, "rate_limit_exceeded", "requests")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        # 429, told apart by code
        (api(429, "rate_limit_exceeded", "tokens"), "retry"),
        (api(429, "rate_limit_exceeded", "requests"), "retry"),
        (api(429, "slow_down", "rate_limit_error"), "retry"),
        (api(429, "insufficient_quota", "insufficient_quota"), "session_stop"),
        (api(429, "credit_balance_exhausted"), "session_stop"),
        (api(429, "organization_spend_limit_exceeded"), "session_stop"),
        (api(429, "project_spend_limit_exceeded"), "session_stop"),
        (api(429, "organization_usage_limit_exceeded"), "session_stop"),
        (api(429, "workspace_billing_cap_reached"), "session_stop"),
        # then by type
        (api(429, None, "insufficient_quota"), "session_stop"),
        (api(429, None, "tokens"), "retry"),
        (api(429, "something_new", "insufficient_quota"), "session_stop"),
        # code before type
        (api(429, "rate_limit_exceeded", "insufficient_quota"), "retry"),
        (api(429, "insufficient_quota", "requests"), "session_stop"),
        # neither: the plain meaning of the status
        (api(429), "retry"),
        (api(429, "429", "TooManyRequests"), "retry"),
        # never by message
        (api(429, message="You exceeded your current quota, please check your plan and billing"), "retry"),
        (api(429, "insufficient_quota", message="Rate limit reached, try again in 6ms"), "session_stop"),
        # whole session
        (api(401, "invalid_api_key"), "session_stop"),
        (api(402), "session_stop"),
        (api(403, "model_not_found"), "session_stop"),
        (api(404, "model_not_found"), "session_stop"),
        (api(404), "session_stop"),
        (api(400, "unsupported_parameter", param="temperature"), "session_stop"),
        (api(400, None, "invalid_request_error", param="temperature"), "session_stop"),
        (api(400, "unsupported_value", param="reasoning.effort"), "session_stop"),
        (api(400, "invalid_value", param="reasoning.effort"), "session_stop"),
        (api(400, "billing_hard_limit_reached"), "session_stop"),
        # this trial only
        (api(400, "context_length_exceeded", param="input"), "rejected"),
        (api(400), "rejected"),
        (api(408), "rejected"),
        (api(409), "rejected"),
        (api(413), "rejected"),
        (api(422), "rejected"),
        (api(301), "rejected"),
        (api(307), "rejected"),
        (api(200, "server_error"), "rejected"),
        (api(200), "rejected"),
        # retried
        (api(500, "server_error"), "retry"),
        (api(502), "retry"),
        (api(503, "server_is_overloaded", "service_unavailable_error"), "retry"),
        (api(520), "retry"),
        # no answer, or none that can be read
        (TransportError("refused", ambiguous_outcome=False), "not_connected"),
        (TransportError("cut", ambiguous_outcome=True), "ambiguous"),
        (DecodeError("bad", 200, None, b""), "decode"),
    ],
)
def test_every_error_has_its_class(error, kind):
    """The table of outcomes, row by row."""
    assert classify(error) == kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (api(429, "insufficient_quota"), "quota"),
        (api(402), "quota"),
        (api(403, "insufficient_quota"), "quota"),
        (api(401), "key"),
        (api(403), "key"),
        (api(404), "parameter"),
        (api(400, "unsupported_parameter"), "parameter"),
        (api(429, "rate_limit_exceeded"), None),
        (api(500), None),
    ],
)
def test_a_session_stop_says_which(error, kind):
    """The user has to fix one of three things."""
    assert stop_kind(error) == kind


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("   ", None),
        ("20", 20),
        (" 20 ", 20),
        ("0", 0),
        ("60", 60),
        ("61", 61),
        ("120", 120),
        ("121", 121),
        ("599", 599),
        ("86400", 86400),
        ("0.493", 0.493),
        ("1.", 1),
        ("250ms", 0.25),
        ("0ms", 0),
        ("-10", None),
        ("-0.5", None),
        ("+10", None),
        ("-10ms", None),
        ("1e3", None),
        ("0x10", None),
        ("٢٠", None),
        ("nan", None),
        ("inf", None),
        ("Infinity", None),
        ("nanms", None),
        ("99999999999999999999999999999999999", None),
        ("9" * 5000, None),
        ("20 seconds", None),
        ("20, 30", None),
        ("soon", None),
        (http_date(20), 20),
        (http_date(121), 121),
        (http_date(0), 0),
        (http_date(-3600), 0),
        ("Fri, 29 Sep 2023 16:26:57 GMT", 0),
        ("Monday, 30-Nov-26 12:00:20 GMT", 20),
        ("Mon Nov 30 12:00:20 2026", 20),
        ("Mon, 30 Nov 2026 13:00:20 +0100", 20),
        ("Mon, 30 Nov 2026 12:00:20 -0000", 20),
        ("2026-11-30T12:00:20Z", None),
        ("Fri, 29 Sep 100000 16:26:57 GMT", None),
        ("Fri, 31 Feb 2027 16:26:57 GMT", None),
        ("Fri, 29 Sep 2023 99:99:99 GMT", None),
        ("Wed, 01 Jan 9999 00:00:00 GMT", None),
        ("Fri, 29 Sep 2027 16:26:57 +99999999999", None),
    ],
)
def test_retry_after_in_every_form(header, seconds):
    """Seconds, fractions, milliseconds and the three date forms; anything else is no instruction."""
    assert parse_retry_after(header, now=NOW) == seconds


@given(st.text())
def test_no_header_crashes_the_parser(header):
    """A header is the server's to choose."""
    seconds = parse_retry_after(header, now=NOW)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(("attempt", "bound"), [(1, 1.0), (2, 2.0), (3, 4.0)])
@pytest.mark.parametrize("header", [None, "-10", "nan", "garbage", "9" * 35])
def test_without_an_instruction_the_wait_is_full_jitter(attempt, bound, header):
    """uniform(0, min(60, 2^(attempt-1))): the draw scales the whole interval."""
    error = api(500, retry_after=header)
    waits = [decide(error, attempt=attempt, elapsed_s=0, now=NOW, jitter=draw) for draw in (0.0, 0.5, 0.999)]
    assert waits == [Wait(0.0), Wait(bound / 2), Wait(bound * 0.999)]


def test_four_attempts_and_no_more():
    """The fourth failure is the last."""
    decisions = [decide(RATE, attempt=n, elapsed_s=0, now=NOW, jitter=0.5) for n in (1, 2, 3, 4)]
    assert [type(decision) for decision in decisions] == [Wait, Wait, Wait, Stop]
    assert decisions[-1] == Stop("attempts")


@given(
    asked=st.integers(0, 700),
    elapsed_s=st.floats(0, 700),
    attempt=st.integers(1, 3),
    jitter=st.floats(0, 1, exclude_max=True),
)
def test_a_wait_is_never_shorter_than_asked_and_never_beyond_the_total(asked, elapsed_s, attempt, jitter):
    """8.6: what does not fit into 600 s stops now; what fits is obeyed in full, with positive jitter only."""
    error = api(429, "rate_limit_exceeded", retry_after=str(asked))
    decision = decide(error, attempt=attempt, elapsed_s=elapsed_s, now=NOW, jitter=jitter)
    if elapsed_s + asked >= 600:
        assert decision == Stop("time")
    else:
        assert asked <= decision.seconds <= 600 - elapsed_s + 1e-9


@pytest.mark.parametrize(
    ("elapsed_s", "decision"), [(300, Wait(299)), (301, Stop("time")), (599, Stop("time")), (0, Wait(299))]
)
def test_the_total_of_600_seconds_is_exact(elapsed_s, decision):
    """A wait that would end at 600 s or later is not begun."""
    error = api(503, retry_after="299")
    assert decide(error, attempt=3, elapsed_s=elapsed_s, now=NOW, jitter=0) == decision


def test_workers_that_got_the_same_instruction_do_not_come_back_together():
    """Jitter is added to Retry-After, so that nobody storms."""
    error = api(429, "slow_down", retry_after="30")
    waits = {decide(error, attempt=1, elapsed_s=0, now=NOW, jitter=n / 20).seconds for n in range(20)}
    assert len(waits) == 20
    assert min(waits) == 30


def test_a_long_wait_stops_instead_of_being_shortened():
    """A server that asks for two days is obeyed by stopping."""
    error = api(429, "rate_limit_exceeded", retry_after="172800")
    assert decide(error, attempt=1, elapsed_s=0, now=NOW, jitter=0) == Stop("time")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (api(429, "insufficient_quota", retry_after="1"), "session_stop"),
        (api(401), "session_stop"),
        (api(400), "rejected"),
        (TransportError("", ambiguous_outcome=False), "not_connected"),
        (TransportError("", ambiguous_outcome=True), "ambiguous"),
        (DecodeError("", 200, None, b""), "decode"),
    ],
)
def test_everything_else_is_never_sent_again_by_policy(error, reason):
    """One request, then the reason."""
    assert decide(error, attempt=1, elapsed_s=0, now=NOW, jitter=0) == Stop(reason)
