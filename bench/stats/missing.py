"""What missing trials could do to a contrast: Manski bounds, and exact tests that they do not favour a notation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bench.score.outcome import Outcome
from bench.stats.bootstrap import LOWER, UPPER, bootstrap
from bench.stats.paired import highest, lowest, sample_of, to_pp
from bench.stats.signflip import sign_flip_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.score.table import ResultRow
    from bench.stats.paired import FamilyPairs
    from bench.stats.settings import AnalysisSettings

What = Literal["missing", "truncation", "format"]
FORMAT_FAILURES = frozenset({Outcome.INVALID_ANSWER_FORMAT, Outcome.INVALID_GENERATED_SYNTAX})


@dataclass(frozen=True, slots=True)
class Bounds:
    """The estimate over all planned families with every missing half filled against and for the plus notation.

    The interval runs from the lower end of the low fill to the upper end of the high fill, on the same resamples.
    """

    low_pp: float
    high_pp: float
    ci_low_pp: float
    ci_high_pp: float
    missing_halves: int


@dataclass(frozen=True, slots=True)
class MissingTest:
    """How often ``what`` befell each notation, and the sign-flip p over families that it favours neither."""

    what: What
    plus_count: int
    minus_count: int
    pairs: int
    p: float


def bounds(families: Sequence[FamilyPairs], settings: AnalysisSettings) -> Bounds | None:
    """The worst and the best case; ``None`` without families."""
    low, high = (sample_of(families, fill) for fill in (lowest, highest))
    low_pp, high_pp = to_pp(low.estimate()), to_pp(high.estimate())
    if low_pp is None or high_pp is None:
        return None
    ends = [
        float(bootstrap(sample, seed=settings.bootstrap_seed, resamples=settings.resamples).percentile(p) * 100)
        for sample, p in ((low, LOWER), (high, UPPER))
    ]
    missing = sum(score is None for family in families for pair in family.pairs for score in pair.scores)
    return Bounds(low_pp, high_pp, ends[0], ends[1], missing)


def missing_tests(families: Sequence[FamilyPairs], *, seed: int) -> tuple[MissingTest, ...]:
    """The three tests: infrastructure or never sent, truncation, format failure."""
    return (
        _test("missing", families, lambda half: half is None or half.strict is None, seed),
        _test(
            "truncation", families, lambda half: half is not None and half.outcome is Outcome.INCOMPLETE_OUTPUT, seed
        ),
        _test("format", families, lambda half: half is not None and half.outcome in FORMAT_FAILURES, seed),
    )


def _test(
    what: What, families: Sequence[FamilyPairs], befell: Callable[[ResultRow | None], bool], seed: int
) -> MissingTest:
    plus = [sum(befell(pair.plus) for pair in family.pairs) for family in families]
    minus = [sum(befell(pair.minus) for pair in family.pairs) for family in families]
    steps = [a - b for a, b in zip(plus, minus, strict=True)]
    pairs = sum(len(family.pairs) for family in families)
    return MissingTest(what, sum(plus), sum(minus), pairs, sign_flip_of(steps, seed=seed).p)
