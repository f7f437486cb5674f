"""Money, by command line and end to end: what is decided about unknown costs, caps, days, keys and quotas."""

import json

import pytest

from bench.run.events import read_events
from bench.run.status import status
from tests.faults.hostile_parts import refusal
from tests.faults.worlds import FAST, TrialServer, answer, box_for, caps, locality, plan_run, totals_of
from tests.loopback import LoopbackServer, drop, error_reply

pytestmark = pytest.mark.faults

RESERVED_AT_MOST = 2000  # tokens of one trial of these runs
LATER = """
import datetime
import bench.run.clock as clock

_utc_now = clock.SystemClock.utc_now
clock.SystemClock.utc_now = lambda self: _utc_now(self) + datetime.timedelta(days={days})
"""


@pytest.fixture
def server():
    with TrialServer() as running:
        yield running


@pytest.fixture
def world(tmp_path, server):
    """Box and plan of a run of 20 trials; commands run in one process unless they say otherwise."""
    return box_for(tmp_path / "box", server.base_url), plan_run(tmp_path / "run", server.base_url)


def run(box, plan, *flags, limits=None, workers=0):
    """``locality run --execute`` with caps that are no obstacle unless given; exit code and output."""
    spaced = [part for flag in (limits or caps()) for part in flag.split("=")]
    fast = [part for flag in FAST for part in flag.split("=")]
    return locality(box, "run", "--run", plan.run_dir, *spaced, *fast, "-n", workers, *flags)


def days_later(box, days):
    """Every process of the box lives so many days later from now on."""
    (box.root / "sitecustomize.py").write_text(LATER.format(days=days))


def test_what_a_person_decides_about_lost_answers_and_failures(world, server):
    """Nothing ambiguous or failed is sent again by itself; resolve, --retry-ambiguous and --retry-failed each do one thing.

    The first trial's answer is lost and resolved with what the usage page says; the second's is lost and sent again, its
    old reservation staying charged; the third's was refused by the API; the fourth's refusal is the model's own.
    """
    box, plan = world
    lost, again, *_ = server.assign(
        plan, [[drop(billed=True)], [drop(billed=True)], [error_reply(400, "invalid_prompt")], [refusal()]]
    )
    assert run(box, plan)[0] == 1
    code, text = locality(box, "status", "--run", plan.run_dir)
    assert (code, lost[:12] in text, again[:12] in text) == (1, True, True)
    before = totals_of(plan.run_dir)
    code, text = locality(box, "resolve", "--run", plan.run_dir, "--trial", lost[:16], "--tokens", 777)
    assert (code, "booked as 777" in text) == (0, True), text
    after = totals_of(plan.run_dir)
    assert after.known_tokens == before.known_tokens + 777
    assert 0 < after.unresolved_tokens < before.unresolved_tokens
    assert run(box, plan, "--retry-ambiguous")[0] == 1
    totals = totals_of(plan.run_dir)
    assert (sum(server.by_hash.values()), totals.unresolved_tokens) == (21, after.unresolved_tokens)
    assert server.billed_tokens <= totals.known_tokens + totals.unresolved_tokens
    code, text = locality(box, "resolve", "--run", plan.run_dir, "--trial", again, "--keep")
    assert (code, totals_of(plan.run_dir).unresolved_tokens) == (0, 0), text
    assert locality(box, "resolve", "--run", plan.run_dir, "--trial", again, "--keep")[0] == 4
    assert locality(box, "status", "--run", plan.run_dir)[0] == 0
    assert run(box, plan, "--retry-failed")[0] == 0
    assert sum(server.by_hash.values()) == 23  # what was resolved as missing, and what the API had refused
    assert status(plan.run_dir).endings == {"answered": 19, "refusal": 1}


def test_yesterdays_unknown_costs_block_until_accepted(world, server):
    """The next UTC day: refused in one line with both remedies, nothing sent; --accept-carryover shows them apart."""
    box, plan = world
    server.assign(plan, [[drop(billed=True)]])
    calls = caps(calls=5)
    assert run(box, plan, limits=calls)[0] == 6
    kept, received = totals_of(plan.run_dir).unresolved_tokens, server.received
    days_later(box, 2)
    code, text = run(box, plan)
    refusals = [line for line in text.splitlines() if "--accept-carryover" in line]
    assert (code, len(refusals), server.received) == (4, 1, received), text
    assert "locality resolve" in refusals[0]
    assert run(box, plan, "--accept-carryover")[0] == 1
    totals = totals_of(plan.run_dir)
    assert (totals.carried_tokens, totals.unresolved_tokens, len(totals.by_window)) == (kept, 0, 2)
    assert server.generations == 20


def test_a_cap_is_raised_on_the_same_day(world, server):
    """Exit 6 at the cap, counted at the server; a higher one goes on from what is used; both values are on record."""
    box, plan = world
    low, high = 6 * RESERVED_AT_MOST, 50 * RESERVED_AT_MOST
    assert run(box, plan, limits=caps(tokens=low))[0] == 6
    assert 0 < server.billed_tokens <= low
    assert server.generations < 20
    assert run(box, plan, limits=caps(tokens=high))[0] == 0
    assert (server.generations, max(server.by_hash.values())) == (20, 1)
    changes = [event for event in read_events(plan.run_dir) if event["kind"] == "token_cap_changed"]
    assert [(low, high)] == [(event["old"], event["new"]) for event in changes]
    ledger = (plan.run_dir / "usage-ledger.jsonl").read_text().splitlines()
    raised = [json.loads(line) for line in ledger if '"kind":"cap"' in line]
    assert len(raised) == 1
    assert (low, high) == (raised[0]["record"]["old"], raised[0]["record"]["new"])


def test_without_counting_only_a_soft_budget_sends(tmp_path):
    """Counting is refused: the session stops after one request; --soft-budget goes on, and nothing calls it strict."""

    class Uncounting(LoopbackServer):
        def _count(self, request):
            self._book(request, billed=False)
            return error_reply(404, "not_found", "invalid_request_error")

    with Uncounting() as server:
        box, plan = box_for(tmp_path / "box", server.base_url), plan_run(tmp_path / "run", server.base_url)
        assert run(box, plan)[0] == 1
        assert (server.received, server.generations) == (1, 0)
        code, text = run(box, plan, "--soft-budget")
        assert (code, server.generations, server.received) == (0, 20, 21), text
        assert totals_of(plan.run_dir).soft_budget
        assert "strict cap" not in (plan.run_dir / "report.md").read_text().replace("no strict cap", "")


def test_input_above_the_count_stops_the_session(world, server):
    """The provider bills more input than it counted plus the margin: booked as it is, and nobody sends any more."""
    box, plan = world
    usage = {"input_tokens": 90_000, "output_tokens": 5, "total_tokens": 90_005}
    server.assign(plan, [[answer("4242", usage=usage)]])
    code, text = run(box, plan)
    assert code != 0
    assert "input_above_count" in text
    assert (sum(server.by_hash.values()), totals_of(plan.run_dir).known_tokens) == (1, 90_005)


@pytest.mark.parametrize(
    ("error", "word"),
    [
        pytest.param((401, "invalid_api_key", "invalid_request_error"), "key", marks=pytest.mark.slow),
        pytest.param((403, "unsupported_country", "request_forbidden"), "key", marks=pytest.mark.slow),
        ((429, "insufficient_quota", "insufficient_quota"), "quota"),
        pytest.param((429, "organization_spend_limit_exceeded", "requests"), "quota", marks=pytest.mark.slow),
        pytest.param((404, "model_not_found", "invalid_request_error"), "parameter", marks=pytest.mark.slow),
        pytest.param((400, "unsupported_parameter", "invalid_request_error"), "parameter", marks=pytest.mark.slow),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value[1]),
)
def test_what_every_request_would_meet_costs_one_and_burns_no_trial(world, server, error, word):
    """Wrong key, used-up quota, unknown model: four workers, one generation, all trials pending; then all goes well."""
    box, plan = world
    server.assign(plan, [[error_reply(*error)]] * 20)
    code, text = run(box, plan, workers=4)
    assert code == 1
    assert f"stopped: {word}" in text
    assert sum(server.by_hash.values()) == 1
    standing = status(plan.run_dir)
    assert (standing.terminal, standing.ambiguous) == (0, [])
    server.plays = {}
    if word == "key":
        assert run(box, plan)[0] == 0
        assert server.generations == 20


@pytest.mark.slow
def test_a_provider_that_is_away_burns_no_money(tmp_path):
    """Nobody listens: each trial is a transport failure, free of charge, and --retry-failed sends them all."""
    with LoopbackServer() as closed:
        port, base_url = closed.port, closed.base_url
    box, plan = box_for(tmp_path / "box", base_url), plan_run(tmp_path / "run", base_url)
    assert run(box, plan)[0] == 1
    totals = totals_of(plan.run_dir)
    assert (totals.known_tokens, totals.unresolved_tokens, status(plan.run_dir).evaluable) == (0, 0, 0)
    with LoopbackServer(port=port) as server:
        assert run(box, plan, "--retry-failed")[0] == 0
        assert (server.generations, max(server.by_hash.values())) == (20, 1)
