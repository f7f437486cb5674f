"""The verdict, by code from the frozen decision rule, first matching line first.

1. provisional, below the stop rule, or too much infrastructure missing: *withheld*
2. undefined, degenerate or ``narrow``: *inconclusive*
3. the 95 % percentile interval excludes 0: *positive* or *negative*
4. the stratified-t 90 % interval inside the smallest effect of interest: *equivalent*
5. otherwise *inconclusive*: an interval that contains 0 is never called "no effect"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bench.stats.bootstrap import Interval

Word = Literal["withheld", "inconclusive", "positive", "negative", "equivalent"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the decision rule looks at. ``withheld_because`` and ``weak_because`` are empty when nothing speaks so."""

    withheld_because: tuple[str, ...]
    weak_because: tuple[str, ...]
    ci95: Interval | None
    t90: Interval | None
    smallest_effect_pp: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """One word and why."""

    word: Word
    reasons: tuple[str, ...]


def decide(evidence: Evidence) -> Verdict:
    """The verdict on one contrast."""
    if evidence.withheld_because:
        return Verdict("withheld", evidence.withheld_because)
    if evidence.weak_because or evidence.ci95 is None:
        return Verdict("inconclusive", evidence.weak_because or ("no interval",))
    if evidence.ci95.excludes_zero:
        return Verdict("positive" if evidence.ci95.low_pp > 0 else "negative", ("the 95 % interval excludes 0",))
    bound = evidence.smallest_effect_pp
    if evidence.t90 is not None and evidence.t90.inside(bound):
        return Verdict("equivalent", (f"the 90 % t interval lies inside +-{bound:g} pp",))
    return Verdict("inconclusive", ("the 95 % interval contains 0",))
