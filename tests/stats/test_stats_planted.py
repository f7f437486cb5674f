"""From plan to verdict: a known effect, planted by the mock, is found again at the other end."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.audit import audit_run, require_audit
from bench.backends.mock import mock_transport
from bench.backends.mock_rates import load_rates
from bench.plan.config import Grid, load_preset
from bench.plan.plan_files import Plan
from bench.plan.planner import write_plan
from bench.run.session import ControllerSession, Invocation, WorkerSession
from bench.run.trial import run_trial
from bench.score.fingerprint import grader_hash
from bench.score.scores import read_scores, score_run
from bench.score.trials import load_trials
from bench.stats.analysis import analyse


def run_whole(out, mode, **changes):
    """Plan, audit, send everything through the mock, score; the trials as analysed, and the protocol."""
    config = load_preset("pilot").model_copy(update=changes)
    write_plan(
        config, phase="p0", model=config.model, out=out, grader_hash=grader_hash(), created_at="2026-11-30T00:00:00Z"
    )
    assert audit_run(out).passed
    session = ControllerSession.open(
        out, Invocation(f"mock-{mode}"), base_url="https://mock.invalid/v1", require_audit=require_audit
    )
    worker = WorkerSession.join(session.handoff(), worker="main", transport=mock_transport(mode, out))
    for position in session.pending:
        run_trial(worker.trial(position), worker.client, worker.ledger, worker.store)
    worker.close()
    session.close()
    score_run(out)
    return load_trials(out), Plan.open(out).protocol


SMALL = {"reading": Grid(depths=[2, 4], fillers=[0, 4], seeds_per_cell=1), "include_before_close": False}


def test_oracle_answers_are_right_everywhere_through_the_whole_pipeline(tmp_path):
    """Every trial correct in every notation and lexicon: all differences 0, degenerate, nothing claimed."""
    trials, protocol = run_whole(tmp_path / "run", "oracle", **SMALL)
    found = analyse(trials, protocol)
    assert {"correct": 40} == Counter(row.outcome.value for row in read_scores(tmp_path / "run"))
    assert (0.0, None, "inconclusive") == (found.primary.estimate_pp, found.primary.ci95, found.primary.verdict)
    assert "degenerate" in found.primary.flags
    assert found.state.synthetic


@pytest.mark.slow
def test_a_planted_effect_is_recovered(tmp_path):
    """160 families in 4 cells: the estimate lies within four standard errors of the planted difference."""
    grid = Grid(depths=[2, 4], fillers=[0, 4], seeds_per_cell=40)
    trials, protocol = run_whole(
        tmp_path / "run", "planted", reading=grid, include_before_close=False, syntaxes=["generic_end", "named_end"]
    )
    rates = load_rates().planted.accuracy_per_mille
    planted_pp = (rates["named_end"] - rates["generic_end"]) / 10
    found = analyse(trials, protocol).primary
    assert (160, 160) == (found.families, found.families_planned)
    assert abs(found.estimate_pp - planted_pp) < 4 * found.se_pp
    assert all(test.passed for test in found.self_tests)
    assert ("positive" if found.ci95.low_pp > 0 else "inconclusive") == found.verdict
