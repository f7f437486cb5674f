"""Validity checks find what is planted and stay quiet otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scipy import stats
from stats_rows import family

from bench.stats.contrast import PRIMARY, Selection
from bench.stats.validity import validity

T1 = Selection("scope_lookup", "after_close")


def run(pairs, **per_notation):
    """Families in the order of sending; ``pairs`` are (B, D) scores."""
    rows = []
    for index, (b, d) in enumerate(pairs):
        for offset, row in enumerate(family(f"f{index}", [b], [d], seed_index=index)):
            changes = {key: value[row.row.syntax] for key, value in per_notation.items()}
            rows.append(replace(row, row=replace(row.row, position=2 * index + offset), **changes))
    return rows


def checks(rows):
    return {row.name: row for row in validity(rows, T1, PRIMARY, seed=0)}


def test_drift_by_hand():
    """Differences -1, 0, 0, 1 at positions 0.5, 2.5, 4.5, 6.5: a slope of 6/20, 30 pp per trial."""
    found = checks(run([(1, 0), (0, 0), (1, 1), (0, 1)]))["difference against position in the run"]
    assert found.number == pytest.approx(1000 * 30.0)
    assert found.p == pytest.approx(0.0513, abs=1e-4)
    assert not found.alarm


def test_planted_drift_alarms():
    """B collapses after the first half."""
    found = checks(run([(1, 1)] * 20 + [(0, 1)] * 20))
    assert found["difference against position in the run"].alarm
    assert 100.0 == found["difference, last quarter minus first"].number
    assert -50.0 == found["accuracy of all notations, last quarter minus first"].number
    assert found["accuracy of all notations, last quarter minus first"].alarm


def test_a_steady_run_raises_no_alarm():
    """Alternating differences: no check speaks up."""
    found = checks(run([(0, 1), (1, 0)] * 12, returned_model=dict.fromkeys(("generic_end", "named_end"), "m")))
    assert [] == [name for name, row in found.items() if row.alarm]


def test_two_returned_models_alarm():
    """A backend changed in mid-run."""
    found = checks(run([(1, 1)] * 4, returned_model={"generic_end": "m-1", "named_end": "m-2"}))
    row = found["distinct returned models"]
    assert (2, True, "m-1, m-2") == (row.number, row.alarm, row.note)


def test_cached_share_slope_by_hand():
    """d = 1 where D's share is 0.2 higher, d = 0 where equal: 50 pp per 10 pp of share."""
    rows = []
    for index, (d, cached) in enumerate([(1, 20), (0, 0), (1, 20), (0, 0)]):
        pair = family(f"f{index}", [0], [d], seed_index=index)
        rows += [
            replace(r, input_tokens=100, cached_input_tokens=cached if r.row.syntax == "named_end" else 0) for r in pair
        ]
    assert checks(rows)["difference against difference in cached share"].number == pytest.approx(50.0)


def test_unknown_caches_say_nothing():
    """No usage, no slope."""
    row = checks(run([(0, 1)] * 8))["difference against difference in cached share"]
    assert (None, None, False) == (row.number, row.p, row.alarm)


def test_strict_rules_that_hit_one_notation_are_seen():
    """Ten D answers in a code fence, no B answer: -100 pp against 0, and an alarm."""
    rows = [replace(r, lenient=1) if r.row.syntax == "named_end" else r for r in run([(1, 0)] * 10)]
    found = checks(rows)
    assert (-100.0, 0.0) == (
        found["strict minus lenient, named_end"].number,
        found["strict minus lenient, generic_end"].number,
    )
    assert found["strict minus lenient, contrast's notations differ"].alarm


def test_nothing_available():
    """An empty run is checked without a crash, and nothing is claimed."""
    assert [] == [row.name for row in validity([], T1, PRIMARY, seed=0) if row.alarm]


def test_quarters_agree_with_scipys_welch_test():
    """First quarter 0, 0, 1, 1 and last quarter 1, 1, 1, 0."""
    middle = [(0, 0)] * 8
    found = checks(run([(0, 0), (0, 0), (0, 1), (0, 1), *middle, (0, 1), (0, 1), (0, 1), (0, 0)]))
    expected = stats.ttest_ind([1, 1, 1, 0], [0, 0, 1, 1], equal_var=False).pvalue
    row = found["difference, last quarter minus first"]
    assert (25.0, pytest.approx(expected)) == (row.number, row.p)
