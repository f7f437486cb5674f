"""The decision rule, line by line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.stats.bootstrap import Interval
from bench.stats.verdict import Evidence, decide

CLEAR = Evidence((), (), Interval(1.0, 4.0), Interval(0.5, 4.5), 5.0)


@pytest.mark.parametrize(
    ("evidence", "word"),
    [
        (CLEAR, "positive"),
        (replace(CLEAR, ci95=Interval(-4.0, -1.0)), "negative"),
        (replace(CLEAR, ci95=Interval(0.0, 4.0)), "equivalent"),
        (replace(CLEAR, ci95=Interval(-4.0, 0.0), t90=Interval(-4.9, 4.9)), "equivalent"),
        (replace(CLEAR, ci95=Interval(-1.0, 4.0), t90=Interval(-1.0, 5.0)), "inconclusive"),
        (replace(CLEAR, ci95=Interval(-4.0, 1.0), t90=Interval(-5.0, 1.0)), "inconclusive"),
        (replace(CLEAR, ci95=Interval(-1.0, 4.0), t90=None), "inconclusive"),
        (replace(CLEAR, ci95=None), "inconclusive"),
        (replace(CLEAR, weak_because=("narrow",)), "inconclusive"),
        (replace(CLEAR, weak_because=("degenerate",), ci95=Interval(-1.0, 1.0), t90=Interval(-1, 1)), "inconclusive"),
        (replace(CLEAR, withheld_because=("provisional",)), "withheld"),
        (replace(CLEAR, withheld_because=("provisional",), weak_because=("narrow",)), "withheld"),
    ],
)
def test_decision_rule(evidence, word):
    """Withheld before inconclusive before positive or negative before equivalent; 0 as an end excludes nothing."""
    assert word == decide(evidence).word


def test_every_verdict_has_a_reason():
    """One word is never alone."""
    for evidence in (CLEAR, replace(CLEAR, ci95=None), replace(CLEAR, withheld_because=("below the stop rule",))):
        assert decide(evidence).reasons
