"""Preflight and counting: two requests, or counts alone, through the runner, its caps and its books."""

import json

import pytest

from bench.plan.config import ModelSettings
from bench.run.counting import count_tokens
from bench.run.preflight import run_preflight
from bench.run.session import ControllerSession, Invocation, Refusal, Surroundings
from bench.run.states import anything_dispatched
from bench.run.status import forecast, read_run
from tests.loopback import LoopbackServer, error_reply
from tests.run.conftest import plan_smoke
from tests.run.run_fakes import FakeClock, UnflushedFs

KEY = "sk-sentinel-0123456789"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """The key comes from the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def caps(**changes):
    return Invocation(
        "live", **{"max_generation_calls": 1, "max_http_attempts": 4, "local_token_cap": 20_000, **changes}
    )


def preflight(out, server, invocation=None):
    model = ModelSettings(model="m", base_url=server.base_url, reasoning_effort="low")
    return run_preflight(out, invocation or caps(), model=model, base_url=server.base_url)


def test_a_preflight_counts_once_generates_once_and_writes_what_it_saw(tmp_path):
    """Model requested and returned, effort, parameters, usage fields; no error."""
    with LoopbackServer(answer="1234") as server:
        seen = preflight(tmp_path / "out", server)
        assert (server.counts, server.generations) == (1, 1)
    written = json.loads((tmp_path / "out" / "capabilities.json").read_bytes())
    assert (written["errors"], written["model_requested"], written["count_ok"]) == ([], "m", True)
    assert (written["reasoning_effort"], written["synthetic_mock"]) == ("low", False)
    assert "input_tokens" in seen.usage_fields_seen
    assert {"model", "max_output_tokens", "reasoning"} <= set(seen.parameters_sent)
    assert KEY.encode() not in b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


def test_a_preflight_that_is_refused_says_why_and_changes_no_setting(tmp_path):
    """A 401 on the count: one request, and the error in the file."""
    with LoopbackServer([error_reply(401, "invalid_api_key")]) as server:
        seen = preflight(tmp_path / "out", server)
    assert (seen.count_ok, seen.http_attempts) == (False, 1)
    assert any("401" in error for error in seen.errors)


def test_a_second_preflight_is_a_new_one(tmp_path):
    """It is sent again, under the day's cap that both share."""
    with LoopbackServer() as server:
        for _ in range(2):
            assert preflight(tmp_path / "out", server).errors == []
        assert server.generations == 2


def test_a_preflight_beyond_its_cap_sends_no_generation(tmp_path):
    """8192 + 256 + input does not fit into 8000."""
    with LoopbackServer() as server:
        seen = preflight(tmp_path / "out", server, caps(local_token_cap=8000))
        assert (server.received, seen.errors[0]) == (0, "not_dispatched: cap")


def test_a_preflight_without_caps_is_refused(tmp_path):
    """Nothing is sent."""
    with LoopbackServer() as server, pytest.raises(Refusal, match="--local-token-cap"):
        preflight(tmp_path / "out", server, caps(local_token_cap=None))


def open_count(run_dir, attempts):
    return ControllerSession.open(
        run_dir,
        Invocation("live", max_http_attempts=attempts, purpose="count", max_rpm=10**6),
        require_audit=lambda _: None,
        world=Surroundings(UnflushedFs(), FakeClock(), {"OPENAI_API_KEY": KEY}),
    )


def test_counting_a_plan_generates_nothing_and_sharpens_the_forecast(tmp_path):
    """Twenty counts, cached by request; a second time there is nothing left to count."""
    with LoopbackServer() as server:
        run = plan_smoke(tmp_path / "run", server.base_url)
        before = forecast(read_run(run)).worst_case_tokens
        for expected in (20, 0):
            session = open_count(run, 100)
            summary = count_tokens(session)
            session.close()
            assert (summary.counted, summary.http_attempts, summary.stopped) == (20, expected, None)
        assert (server.counts, server.generations) == (20, 0)
    after = forecast(read_run(run))
    assert (after.count_requests, after.worst_case_tokens < before) == (0, True)
    assert not anything_dispatched(run), "a counted plan may still be frozen"
    assert len(read_run(run).pending) == 20


def test_counting_stops_at_its_cap_of_attempts(tmp_path):
    """What was counted stays counted."""
    with LoopbackServer() as server:
        run = plan_smoke(tmp_path / "run", server.base_url)
        session = open_count(run, 7)
        summary = count_tokens(session)
        session.close()
        assert (summary.counted, summary.stopped, server.received) == (7, "cap", 7)
