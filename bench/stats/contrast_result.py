"""Everything that is said about one contrast in one task and view: the estimate, its intervals, checks and verdict.

Puts the parts together; each part's mathematics is in its own module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from bench.stats.bootstrap import LOWER, UPPER, Interval, bootstrap
from bench.stats.counts import McNemar, mcnemar
from bench.stats.exact import exact_bootstrap
from bench.stats.missing import Bounds, MissingTest, bounds, missing_tests
from bench.stats.paired import family_pairs, observed, sample_of, to_pp
from bench.stats.power import deviations, mde_pp
from bench.stats.signflip import sign_flip
from bench.stats.tinterval import bootstrap_sd_pp, standard_error, t_interval
from bench.stats.verdict import Evidence, Word, decide

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from bench.plan.records import Lexical, Task, View
    from bench.score.table import ResultRow
    from bench.stats.bootstrap import Resamples
    from bench.stats.contrast import Contrast, Selection
    from bench.stats.exact import ExactBootstrap
    from bench.stats.paired import FamilyPairs, Pair, PairedSample
    from bench.stats.settings import AnalysisSettings

FEW_FAMILIES = 10
"""Fewer families in a stratum, or fewer discordant ones in all: the percentile interval is known to be too narrow."""
WEAK = ("no_families", "empty_stratum", "degenerate", "narrow", "selftest_failed")
Status = Literal["computed", "not_computed", "undefined"]


@dataclass(frozen=True, slots=True)
class SelfTest:
    """A number that must lie within its bound on every data set, or the interval is not believed."""

    name: str
    passed: bool
    number: float
    bound: float


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Pairs of the available families by their two scores."""

    both_correct: int
    both_wrong: int
    plus_only: int
    minus_only: int


@dataclass(frozen=True, slots=True)
class RegimeTest:
    """McNemar's test over all complete pairs of one lexical regime."""

    lexical: Lexical
    test: McNemar


@dataclass(frozen=True, slots=True)
class Intervals:
    """All intervals of an estimate; ``None`` where it has none."""

    ci95: Interval | None = None
    exact95: Interval | None = None
    t95: Interval | None = None
    t90: Interval | None = None
    exact_status: Status = "undefined"
    self_tests: tuple[SelfTest, ...] = ()


@dataclass(frozen=True, slots=True)
class ContrastResult:
    """One contrast. Percentage points where the name ends so; ``None`` is undefined or not computed, never 0.

    With an empty stratum the estimand over the full grid is undefined: ``estimate_pp`` is ``None`` and the value over
    the available strata has its own name. Accuracies weigh cells equally, over the same families as the estimate.
    """

    task: Task
    view: View
    contrast: str
    selection: Selection
    estimate_pp: float | None
    estimate_available_strata_pp: float | None
    ci95: Interval | None
    exact95: Interval | None
    exact_status: Status
    t95: Interval | None
    t90: Interval | None
    se_pp: float | None
    df: float | None
    signflip_p: float | None
    signflip_midp: float | None
    signflip_method: Literal["exact", "draws"] | None
    families: int
    families_planned: int
    discordant_families: int
    strata_planned: int
    strata_available: int
    pairs: PairCounts
    accuracy_plus: float | None
    accuracy_minus: float | None
    error_reduction: float | None
    flags: tuple[str, ...]
    verdict: Word
    verdict_reasons: tuple[str, ...]
    bounds: Bounds | None
    mcnemar: tuple[RegimeTest, ...]
    missingness: tuple[MissingTest, ...]
    self_tests: tuple[SelfTest, ...]
    mde_pp: float | None
    holm_p: float | None = None
    holm_undefined: bool = False


def contrast_result(
    trials: Sequence[ResultRow],
    selection: Selection,
    contrast: Contrast,
    *,
    settings: AnalysisSettings,
    withheld_because: tuple[str, ...] = (),
) -> ContrastResult:
    """The result of one contrast within a selection; ``withheld_because`` says what forbids a verdict for the run."""
    families = family_pairs(trials, selection, contrast)
    sample = sample_of(families)
    defined = bool(sample.families) and not sample.has_empty_stratum
    estimate = sample.estimate()
    intervals = intervals_of(sample, settings) if defined else Intervals()
    flags = (*flags_of(sample, intervals), *(("missing_halves",) if sample.families < sample.planned else ()))
    weak = tuple(flag for flag in WEAK if flag in flags)
    verdict = decide(Evidence(withheld_because, weak, intervals.ci95, intervals.t90, settings.smallest_effect_pp))
    flip = sign_flip(sample, seed=settings.bootstrap_seed) if defined else None
    error = standard_error(sample) if defined else None
    plus, minus = (_accuracy(families, side) for side in (0, 1))
    return ContrastResult(
        task=selection.task,
        view=selection.view,
        contrast=contrast.name,
        selection=selection,
        estimate_pp=to_pp(estimate) if defined else None,
        estimate_available_strata_pp=to_pp(estimate),
        ci95=intervals.ci95,
        exact95=intervals.exact95,
        exact_status=intervals.exact_status,
        t95=intervals.t95,
        t90=intervals.t90,
        se_pp=None if error is None else error.se_pp,
        df=None if error is None else error.df,
        signflip_p=None if flip is None else flip.p,
        signflip_midp=None if flip is None else flip.mid_p,
        signflip_method=None if flip is None else flip.method,
        families=sample.families,
        families_planned=sample.planned,
        discordant_families=sample.discordant,
        strata_planned=len(sample.strata),
        strata_available=len(sample.filled),
        pairs=pair_counts(families),
        accuracy_plus=None if plus is None else float(plus),
        accuracy_minus=None if minus is None else float(minus),
        error_reduction=error_reduction(plus, minus),
        flags=flags,
        verdict=verdict.word,
        verdict_reasons=verdict.reasons,
        bounds=bounds(families, settings),
        mcnemar=regime_tests(families),
        missingness=missing_tests(families, seed=settings.bootstrap_seed),
        self_tests=intervals.self_tests,
        mde_pp=detectable_pp(sample, intervals, settings),
    )


def intervals_of(sample: PairedSample, settings: AnalysisSettings) -> Intervals:
    """Every interval of a sample without empty stratum; none where nothing can vary from resample to resample.

    All differences 0, or a single family in every stratum: a width of 0 would read as certainty.
    """
    t95, t90 = (t_interval(sample, confidence=confidence) for confidence in (0.95, 0.90))
    if not sample.discordant or all(len(stratum.units) == 1 for stratum in sample.filled):
        return Intervals(t95=t95, t90=t90)
    resamples = bootstrap(sample, seed=settings.bootstrap_seed, resamples=settings.resamples)
    exact = exact_bootstrap(sample)
    return Intervals(
        ci95=resamples.interval(),
        exact95=None if exact is None else exact.interval(),
        t95=t95,
        t90=t90,
        exact_status="not_computed" if exact is None else "computed",
        self_tests=tuple(_self_tests(sample, resamples, exact)),
    )


def flags_of(sample: PairedSample, intervals: Intervals) -> tuple[str, ...]:
    """What a reader must know of a sample and its intervals, in a fixed order."""
    sizes = [len(stratum.units) for stratum in sample.filled]
    point = intervals.ci95 is not None and intervals.ci95.low_pp == intervals.ci95.high_pp
    at_zero = intervals.ci95 == Interval(0.0, 0.0)
    said = {
        "no_families": not sizes,
        "empty_stratum": bool(sizes) and sample.has_empty_stratum,
        "degenerate": bool(sizes) and (not sample.discordant or at_zero),
        "zero_width": point and not at_zero,
        "narrow": bool(sizes) and (min(sizes) < FEW_FAMILIES or sample.discordant < FEW_FAMILIES),
        "single_family_stratum": 1 in sizes,
        "selftest_failed": not all(test.passed for test in intervals.self_tests),
    }
    return tuple(flag for flag, holds in said.items() if holds)


def pair_counts(families: Sequence[FamilyPairs]) -> PairCounts:
    """The pairs of families that have no missing half."""
    complete = [family.pairs for family in families if all(pair.difference is not None for pair in family.pairs)]
    scores = [pair.scores for pairs in complete for pair in pairs]
    return PairCounts(scores.count((1, 1)), scores.count((0, 0)), scores.count((1, 0)), scores.count((0, 1)))


def regime_tests(families: Sequence[FamilyPairs]) -> tuple[RegimeTest, ...]:
    """McNemar per lexical regime."""
    scores: dict[Lexical, list[tuple[int | None, int | None]]] = {}
    for family in families:
        for pair in family.pairs:
            scores.setdefault(pair.lexical, []).append(pair.scores)
    return tuple(
        RegimeTest(lexical, mcnemar(found.count((1, 0)), found.count((0, 1))))
        for lexical, found in sorted(scores.items())
    )


def error_reduction(plus: Fraction | None, minus: Fraction | None) -> float | None:
    """Share of the minus notation's errors that the plus notation does not make; ``None`` (NA) if it makes none."""
    if plus is None or minus is None or minus == 1:
        return None
    return float((plus - minus) / (1 - minus))


def _accuracy(families: Sequence[FamilyPairs], side: int) -> Fraction | None:
    def score(pair: Pair) -> int | None:
        return None if observed(pair) is None else pair.scores[side]

    sample = sample_of(families, score)
    return None if sample.has_empty_stratum else sample.estimate()


def _self_tests(sample: PairedSample, resamples: Resamples, exact: ExactBootstrap | None) -> Iterator[SelfTest]:
    """Seeded ends against the exact distribution, seeded spread against the formula; 4 Monte Carlo errors each."""
    n = len(resamples.totals)
    for p, end in ((LOWER, "low"), (UPPER, "high")) if exact is not None else ():
        below, at = exact.distribution_at(resamples.percentile(p)) if exact is not None else (0.0, 1.0)
        distance = max(0.0, below - float(p), float(p) - at)
        bound = 4 * float(p * (1 - p) / n) ** 0.5
        yield SelfTest(f"exact distribution at the {end} end", distance <= bound, distance, bound)
    predicted = bootstrap_sd_pp(sample)
    if predicted > 0:
        distance = abs(resamples.sd_pp / predicted - 1)
        bound = 4 * ((_kurtosis(resamples) - 1) / (4 * n)) ** 0.5
        yield SelfTest("standard deviation of the resamples", distance <= bound, distance, bound)


def _kurtosis(resamples: Resamples) -> float:
    """Fourth moment over squared variance, at least that of a normal distribution."""
    centred = resamples.totals.astype(float) - float(np.mean(resamples.totals.astype(float)))
    variance = float(np.mean(centred**2))
    return max(3.0, float(np.mean(centred**4)) / variance**2) if variance else 3.0


def detectable_pp(sample: PairedSample, intervals: Intervals, settings: AnalysisSettings) -> float | None:
    """What a sample of this size could have seen with 80 % power; ``None`` beside an interval that excludes 0."""
    pool = deviations(sample)
    if pool is None or (intervals.ci95 is not None and intervals.ci95.excludes_zero):
        return None
    smallest = min(len(stratum.units) for stratum in sample.filled)
    return mde_pp(pool, cells=len(sample.filled), families_per_cell=smallest, seed=settings.bootstrap_seed)
