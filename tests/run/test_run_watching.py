"""Watching a run: only what is new is read, what is shown are counts of endings, and pace gives the time left."""

import pytest

from bench.run.watching import Progress, Spending, Tempo, duration, progress_line


def test_the_line_says_counts_tokens_requests_and_time():
    """Outcomes by number, then by name; tokens against their cap."""
    progress = Progress(60, 21, {"refusal": 1, "correct": 16, "wrong": 4}, Spending(12_345, 50_000, 58), 140.0)
    assert (
        "21 of 60 ended | correct 16, wrong 4, refusal 1 | tokens 12,345 / 50,000 | 58 requests/min | time left 2 min"
        == progress_line(progress)
    )


def test_what_is_not_known_is_said_to_be_unknown():
    """No cap, nothing ended, no pace."""
    assert "0 of 5 ended | tokens 0 / no cap | 0 requests/min | time left unknown" == progress_line(
        Progress(5, 0, {}, Spending(0, None, 0), None)
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "unknown"), (0.0, "0 s"), (89.4, "89 s"), (90.0, "2 min"), (5340.0, "89 min"), (7500.0, "2 h 05 min")],
)
def test_durations_read_easily(seconds, text):
    """Seconds, then minutes, then hours."""
    assert text == duration(seconds)


def test_the_pace_is_that_of_the_last_minutes():
    """Ten in ten seconds; later one a minute: the rest is foretold from what is recent."""
    tempo = Tempo()
    assert tempo.seconds_left(ended=0, wanted=100, now_s=0.0) is None
    assert 90.0 == tempo.seconds_left(ended=10, wanted=100, now_s=10.0)
    for minute in range(1, 21):
        left = tempo.seconds_left(ended=10 + minute, wanted=100, now_s=10.0 + 60 * minute)
    assert 70 * 60.0 == left
    assert 0.0 == tempo.seconds_left(ended=100, wanted=100, now_s=5000.0)


def test_a_stall_makes_the_time_longer():
    """Nothing ends any more: what is left takes ever longer."""
    tempo = Tempo()
    tempo.seconds_left(ended=0, wanted=20, now_s=0.0)
    assert 10.0 == tempo.seconds_left(ended=10, wanted=20, now_s=10.0)
    assert 100.0 == tempo.seconds_left(ended=10, wanted=20, now_s=100.0)
