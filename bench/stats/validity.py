"""Is the run itself sound? Drift, caches, returned models, and whether the strict rules hit one notation harder.

Each check is one number with its unit, a p-value where there is a test, and an alarm. None changes an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr

from bench.stats.denominators import by_syntax
from bench.stats.paired import family_pairs
from bench.stats.signflip import sign_flip_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from bench.score.table import ResultRow
    from bench.stats.contrast import Contrast, Selection
    from bench.stats.paired import FamilyPairs, Pair

    Stratum = tuple[int, int]

ALARM_P = 0.01
ALARM_DRIFT_PP = 5.0


@dataclass(frozen=True, slots=True)
class ValidityRow:
    """One check; ``number`` is ``None`` where the data cannot say."""

    name: str
    number: float | None
    unit: str
    p: float | None
    alarm: bool
    note: str


@dataclass(frozen=True, slots=True)
class Point:
    """A family's difference ``y`` against a measure ``x``."""

    stratum: Stratum
    x: float
    y: float


def validity(
    trials: Sequence[ResultRow], selection: Selection, contrast: Contrast, *, seed: int
) -> tuple[ValidityRow, ...]:
    """All checks for one contrast."""
    rows = [trial for trial in trials if selection.admits(trial)]
    families = family_pairs(rows, selection, contrast)
    return (
        _slope("difference against position in the run", families, _position, "pp per 1,000 trials", 1000),
        _slope("difference against difference in cached share", families, _cached_share, "pp per 10 pp of share", 0.1),
        _quarters_of_differences(families),
        _quarters_of_accuracy(rows),
        _returned_models(trials),
        *_strictness(rows),
        _strictness_test(families, seed),
    )


def _mean_difference(family: FamilyPairs) -> float | None:
    known = [pair.difference for pair in family.pairs if pair.difference is not None]
    return sum(known) / len(known) if known and len(known) == len(family.pairs) else None


def _position(pair: Pair) -> float | None:
    halves = [half.row.position for half in (pair.plus, pair.minus) if half is not None]
    return sum(halves) / len(halves) if halves else None


def _cached_share(pair: Pair) -> float | None:
    shares = [_share(half) for half in (pair.plus, pair.minus)]
    return None if shares[0] is None or shares[1] is None else shares[0] - shares[1]


def _share(trial: ResultRow | None) -> float | None:
    if trial is None or trial.cached_input_tokens is None or not trial.input_tokens:
        return None
    return trial.cached_input_tokens / trial.input_tokens


def _mean(family: FamilyPairs, measure: Callable[[Pair], float | None]) -> float | None:
    known = [value for value in map(measure, family.pairs) if value is not None]
    return sum(known) / len(known) if known and len(known) == len(family.pairs) else None


def _slope(
    name: str, families: Sequence[FamilyPairs], measure: Callable[[Pair], float | None], unit: str, per: float
) -> ValidityRow:
    """Least-squares slope of the difference within strata, with its two-sided t test."""
    points = [
        Point((family.depth, family.filler), x, y)
        for family in families
        if (x := _mean(family, measure)) is not None and (y := _mean_difference(family)) is not None
    ]
    strata = [point.stratum for point in points]
    free = len(points) - len(set(strata)) - 1
    x_centred = _centred(strata, [point.x for point in points])
    y_centred = _centred(strata, [point.y for point in points])
    spread = float(x_centred @ x_centred)
    if free < 1 or spread == 0:
        return ValidityRow(name, None, unit, None, alarm=False, note="too little spread or too few families")
    slope = float(x_centred @ y_centred) / spread
    residual = y_centred - slope * x_centred
    error = sqrt(float(residual @ residual) / free / spread)
    p = float(2 * stdtr(free, -abs(slope) / error)) if error > 0 else None
    return ValidityRow(name, 100 * slope * per, unit, p, alarm=p is not None and p < ALARM_P, note="within strata")


def _centred(strata: Sequence[Stratum], values: Sequence[float]) -> NDArray[np.float64]:
    """The values less the mean of their stratum."""
    centred = np.array(values, dtype=np.float64)
    for stratum in set(strata):
        members = [index for index, own in enumerate(strata) if own == stratum]
        centred[members] -= centred[members].mean()
    return centred


def _quarters_of_differences(families: Sequence[FamilyPairs]) -> ValidityRow:
    name, unit = "difference, last quarter minus first", "pp"
    placed = sorted(
        (position, difference)
        for family in families
        if (position := _mean(family, _position)) is not None and (difference := _mean_difference(family)) is not None
    )
    quarter = len(placed) // 4
    if quarter < 2:
        return ValidityRow(name, None, unit, None, alarm=False, note="fewer than two families a quarter")
    first, last = ([difference for _, difference in part] for part in (placed[:quarter], placed[-quarter:]))
    change = 100 * (sum(last) - sum(first)) / quarter
    p = _welch(last, first)
    return ValidityRow(name, change, unit, p, alarm=p is not None and p < ALARM_P, note=f"{quarter} families each")


def _welch(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Two-sided p that two means of equally many values are equal, variances apart; ``None`` if nothing varies."""
    n = len(one)
    parts = [float(np.var(values, ddof=1)) / n for values in (one, other)]
    if sum(parts) == 0:
        return None
    free = (n - 1) * sum(parts) ** 2 / sum(part * part for part in parts)
    t = abs(sum(one) - sum(other)) / n / sqrt(sum(parts))
    return float(2 * stdtr(free, -t))


def _quarters_of_accuracy(rows: Sequence[ResultRow]) -> ValidityRow:
    """All notations pooled: a change here is a change of the service, not of a notation."""
    name, unit = "accuracy of all notations, last quarter minus first", "pp"
    scores = [row.strict for row in sorted(rows, key=lambda row: row.row.position) if row.strict is not None]
    quarter = len(scores) // 4
    if quarter == 0:
        return ValidityRow(name, None, unit, None, alarm=False, note="too few trials")
    change = 100 * (sum(scores[-quarter:]) - sum(scores[:quarter])) / quarter
    return ValidityRow(name, change, unit, None, alarm=change < -ALARM_DRIFT_PP, note=f"{quarter} trials each")


def _returned_models(trials: Sequence[ResultRow]) -> ValidityRow:
    models = sorted({trial.returned_model for trial in trials if trial.returned_model is not None})
    note = ", ".join(models) or "none reported"
    return ValidityRow("distinct returned models", len(models), "models", None, alarm=len(models) > 1, note=note)


def _gain(trial: ResultRow | None) -> int:
    """1 where the lenient score counts an answer that the strict one does not."""
    return int(trial is not None and trial.strict == 0 and trial.lenient == 1)


def _strictness(rows: Sequence[ResultRow]) -> Iterator[ValidityRow]:
    for syntax, members in by_syntax(rows):
        known = [row for row in members if row.strict is not None]
        number = -100 * sum(map(_gain, known)) / len(known) if known else None
        note = f"{len(known)} evaluable trials"
        yield ValidityRow(f"strict minus lenient, {syntax}", number, "pp", None, alarm=False, note=note)


def _strictness_test(families: Sequence[FamilyPairs], seed: int) -> ValidityRow:
    steps = [sum(_gain(pair.plus) - _gain(pair.minus) for pair in family.pairs) for family in families]
    p = sign_flip_of(steps, seed=seed).p
    name = "strict minus lenient, contrast's notations differ"
    return ValidityRow(name, -float(sum(steps)), "trials", p, alarm=p < ALARM_P, note="sign-flip over families")
