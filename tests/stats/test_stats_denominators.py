"""Counts, accuracies and usage: every denominator by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from stats_rows import family, trial

from bench.score.outcome import Outcome
from bench.stats.counts import wilson
from bench.stats.denominators import INFRASTRUCTURE, accuracies, counts
from bench.stats.usage import Tally, tokens_per_correct, usage


def with_outcome(outcome, index):
    base = trial("D", 1, family=f"f{index}", seed_index=index)
    evaluable = outcome.evaluable
    sent = outcome is not Outcome.NOT_DISPATCHED
    ended = sent and outcome is not Outcome.AMBIGUOUS_OUTCOME
    strict = int(outcome is Outcome.CORRECT) if evaluable else None
    return replace(base, outcome=outcome, strict=strict, dispatched=sent, terminal=ended)


ALL = [with_outcome(outcome, index) for index, outcome in enumerate(Outcome)]


def test_denominators_of_one_trial_of_each_outcome():
    """Twelve planned, eleven sent, ten ended, seven evaluable, one correct, four infrastructure, one never sent."""
    found = counts(ALL)
    assert (12, 11, 10, 7, 1) == (found.planned, found.dispatched, found.terminal, found.evaluable, found.correct)
    assert (4, 1, 1, 1, 1) == (
        found.infrastructure_missing, found.not_dispatched, found.incomplete, found.refusal, found.ambiguous,
    )  # fmt: skip
    assert (7, 12) == (found.families, found.families_planned)


def test_the_parts_add_up():
    """Planned = dispatched + not dispatched; dispatched = evaluable + infrastructure missing."""
    found = counts(ALL)
    assert found.planned == found.dispatched + found.not_dispatched
    assert found.dispatched == found.evaluable + found.infrastructure_missing


def test_infrastructure_and_evaluable_share_no_outcome():
    """Every outcome is evaluable, infrastructure or not dispatched, and only one of them."""
    for outcome in Outcome:
        assert 1 == sum([outcome.evaluable, outcome in INFRASTRUCTURE, outcome is Outcome.NOT_DISPATCHED])


def test_rates_by_hand():
    """1 of 7; 1 of 11; and 5 of 11 if the four unresolved were correct."""
    found = counts(ALL)
    assert (1 / 7, 1 / 11, 5 / 11) == pytest.approx(
        (found.accuracy, found.correct_per_dispatched, found.correct_per_dispatched_upper)
    )


def test_nothing_sent_has_no_rate():
    """None, not 0."""
    found = counts([with_outcome(Outcome.NOT_DISPATCHED, 0)])
    assert (None, None, None) == (found.accuracy, found.correct_per_dispatched, found.correct_per_dispatched_upper)
    assert 0.0 == counts([]).infrastructure_missing_share


def test_a_family_is_available_only_whole():
    """One missing trial of two takes the family out."""
    found = counts(family("a", [1], [None]) + family("b", [1], [1], seed_index=1))
    assert (1, 2) == (found.families, found.families_planned)


def test_accuracy_rows_have_all_groups():
    """All, regime, depth, filler, cell and lookup kind, for each notation."""
    rows = family("a", [1, 0], [1, 1]) + family("b", [0, 0], [1, 1], seed_index=1, cell=(4, 8))
    found = {(r.group, r.syntax): (r.counts.correct, r.counts.evaluable, r.wilson) for r in accuracies(rows)}
    assert (1, 4, wilson(1, 4)) == found["all", "generic_end"]
    assert (0, 2) == found["lexical=nonce", "generic_end"][:2]
    assert (2, 2) == found["depth=4", "named_end"][:2] == found["filler=8", "named_end"][:2]
    assert (2, 2) == found["cell=2x0", "named_end"][:2] == found["kind=outer", "named_end"][:2]


def test_groups_stand_in_rising_order():
    """Depth 16 after depth 8."""
    rows = [r for i, depth in enumerate((16, 2, 8)) for r in family(f"f{i}", [1], [1], cell=(depth, 0))]
    groups = [r.group for r in accuracies(rows) if r.group.startswith("depth") and r.syntax == "named_end"]
    assert ["depth=2", "depth=8", "depth=16"] == groups


def used(strict, total, *, index=0, **changes):
    return trial("D", strict, family=f"f{index}", total_tokens=total, **changes)


def test_tokens_per_correct_by_hand():
    """Wrong answers cost too: 300 tokens for one correct answer."""
    assert 300.0 == tokens_per_correct([used(1, 100), used(0, 200, index=1)])


def test_tokens_per_correct_is_na_without_a_correct_answer_or_with_unknown_usage():
    """Never 0, never a guess."""
    assert tokens_per_correct([used(0, 100)]) is None
    assert tokens_per_correct([used(1, 100), used(1, None, index=1)]) is None


def test_usage_row_by_hand():
    """Means over trials that reported; output minus reasoning only where both are known; retries apart."""
    rows = [
        used(1, 100, input_tokens=80, output_tokens=20, reasoning_tokens=5, total_s=2.0),
        used(0, 200, index=1, input_tokens=150, output_tokens=50, total_s=10.0, attempts=3),
    ]
    (found,) = usage(rows)
    assert (Tally(2, 230), Tally(2, 70), Tally(1, 5)) == (
        found.input_tokens,
        found.output_tokens,
        found.reasoning_tokens,
    )
    assert (Tally(0, 0), Tally(1, 15), 115.0) == (
        found.cached_tokens, found.non_reasoning_output, found.input_tokens.mean,
    )  # fmt: skip
    assert (1, 2.0, 2.0) == (
        found.latency_without_retries.trials, found.latency_without_retries.median_s, found.latency_without_retries.p90_s,
    )  # fmt: skip
    assert (1, 10.0) == (found.latency_with_retries.trials, found.latency_with_retries.median_s)
    assert (0.5, 0.0, None) == (found.retry_rate, found.truncation_rate, found.cached_tokens.mean)


def test_rates_of_nothing_are_unknown():
    """A notation that never ran has no truncation rate."""
    (found,) = usage([trial("D", None)])
    assert (None, None, None) == (found.truncation_rate, found.retry_rate, found.tokens_per_correct)
