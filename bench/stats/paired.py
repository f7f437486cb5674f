"""From trials to paired differences: families, strata and the estimand (specification, 10.3 and 10.4).

Integers until the last division; no resampling and no p-values here.

Glossary: a *pair* is one family, regime and replicate under both notations of a contrast; ``d`` is a family's mean
difference over regimes; ``units`` is ``d`` times the sample's ``unit``, an integer; a *stratum* is a cell.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bench.plan.records import Lexical
    from bench.score.table import ResultRow
    from bench.stats.contrast import Contrast, Selection

    Fill = Callable[["Pair"], int | None]
    Weights = Mapping[Lexical, int]


@dataclass(frozen=True, slots=True)
class Pair:
    """One family, regime and replicate under both notations; ``None`` where the plan has no such trial."""

    lexical: Lexical
    replicate: int
    plus: ResultRow | None
    minus: ResultRow | None

    @property
    def scores(self) -> tuple[int | None, int | None]:
        """The two strict scores; ``None`` is missing."""
        return (
            None if self.plus is None else self.plus.strict,
            None if self.minus is None else self.minus.strict,
        )

    @property
    def difference(self) -> int | None:
        """Plus minus minus: -1, 0 or 1; ``None`` if either half is missing."""
        plus, minus = self.scores
        return None if plus is None or minus is None else plus - minus


@dataclass(frozen=True, slots=True)
class FamilyPairs:
    """All pairs of one family within a selection, in the order (regime, replicate)."""

    family_id: str
    depth: int
    filler: int
    seed_index: int
    pairs: tuple[Pair, ...]

    def mean_units(self, fill: Fill, weights: Weights) -> Fraction | None:
        """Weighted sum over regimes of the mean pair difference; ``None`` if any pair or regime is missing."""
        total = Fraction(0)
        for lexical, weight in weights.items():
            differences = [fill(pair) for pair in self.pairs if pair.lexical == lexical]
            known = [value for value in differences if value is not None]
            if not known or len(known) < len(differences):
                return None
            total += Fraction(weight * sum(known), len(known))
        return total


@dataclass(frozen=True, slots=True)
class Stratum:
    """One cell: its available families in seed order and their differences in units; ``planned`` counts all."""

    depth: int
    filler: int
    families: tuple[str, ...]
    units: tuple[int, ...]
    planned: int


@dataclass(frozen=True, slots=True)
class PairedSample:
    """Strata in (depth, filler) order. A family's difference is ``units / unit``, between -1 and 1 for a mean."""

    strata: tuple[Stratum, ...]
    unit: int

    @property
    def filled(self) -> tuple[Stratum, ...]:
        """The strata that hold at least one family."""
        return tuple(stratum for stratum in self.strata if stratum.units)

    @property
    def families(self) -> int:
        """Families available."""
        return sum(len(stratum.units) for stratum in self.strata)

    @property
    def planned(self) -> int:
        """Families planned."""
        return sum(stratum.planned for stratum in self.strata)

    @property
    def discordant(self) -> int:
        """Families whose difference is not zero."""
        return sum(value != 0 for stratum in self.strata for value in stratum.units)

    @property
    def has_empty_stratum(self) -> bool:
        """Whether the estimand over the full grid is undefined."""
        return len(self.filled) < len(self.strata)

    @property
    def weights(self) -> tuple[int, ...]:
        """One integer per filled stratum: the least common multiple of the sizes over its own size."""
        sizes = [len(stratum.units) for stratum in self.filled]
        common = lcm(*sizes)
        return tuple(common // size for size in sizes)

    @property
    def scale(self) -> int:
        """What the weighted sum of stratum sums is divided by to give the estimate; 0 without families."""
        sizes = [len(stratum.units) for stratum in self.filled]
        return len(sizes) * lcm(*sizes) * self.unit if sizes else 0

    @property
    def total(self) -> int:
        """The weighted sum of stratum sums: the estimate before its one division."""
        return sum(weight * sum(s.units) for weight, s in zip(self.weights, self.filled, strict=True))

    def estimate(self) -> Fraction | None:
        """Mean over available strata of the mean difference; ``None`` without families."""
        return Fraction(self.total, self.scale) if self.scale else None


def to_pp(value: Fraction | None) -> float | None:
    """Percentage points; the one place where exact numbers become floating."""
    return None if value is None else float(value * 100)


def distinct(trials: Iterable[ResultRow]) -> list[ResultRow]:
    """The trials without repetition of a trial id. Raises ``ValueError`` if two rows of one id disagree."""
    seen: dict[str, ResultRow] = {}
    for trial in trials:
        earlier = seen.setdefault(trial.row.trial_id, trial)
        if earlier is not trial and earlier != trial:
            raise ValueError(f"trial {trial.row.trial_id} has two different results; score the run again")
    return list(seen.values())


def family_pairs(trials: Iterable[ResultRow], selection: Selection, contrast: Contrast) -> list[FamilyPairs]:
    """One entry per planned family, ordered by (depth, filler, seed index, id)."""
    sides: dict[tuple[int, int, int, str], dict[tuple[Lexical, int], list[ResultRow | None]]]
    sides = defaultdict(lambda: defaultdict(lambda: [None, None]))
    for trial in distinct(trials):
        row = trial.row
        if row.syntax in {contrast.plus, contrast.minus} and selection.admits(trial):
            family = sides[row.depth, row.filler, row.seed_index, row.family_id]
            family[row.lexical, row.replicate][int(row.syntax == contrast.minus)] = trial
    return [
        FamilyPairs(
            family_id=family_id,
            depth=depth,
            filler=filler,
            seed_index=seed_index,
            pairs=tuple(Pair(lexical, rep, *halves) for (lexical, rep), halves in sorted(found.items())),
        )
        for (depth, filler, seed_index, family_id), found in sorted(sides.items())
    ]


def mean_of_regimes(families: Sequence[FamilyPairs]) -> tuple[dict[Lexical, int], int]:
    """Weight 1 for every regime that was planned, and the number of regimes, by which the sum is divided."""
    regimes = sorted({pair.lexical for family in families for pair in family.pairs})
    return dict.fromkeys(regimes, 1), max(1, len(regimes))


def observed(pair: Pair) -> int | None:
    """The difference as observed."""
    return pair.difference


def lowest(pair: Pair) -> int:
    """The difference with every missing half filled against the plus notation."""
    plus, minus = pair.scores
    return (0 if plus is None else plus) - (1 if minus is None else minus)


def highest(pair: Pair) -> int:
    """The difference with every missing half filled for the plus notation."""
    plus, minus = pair.scores
    return (1 if plus is None else plus) - (0 if minus is None else minus)


def sample_of(
    families: Sequence[FamilyPairs],
    fill: Fill = observed,
    *,
    regimes: tuple[Weights, int] | None = None,
) -> PairedSample:
    """The families' differences on one integer lattice; a family with anything missing is left out.

    ``regimes`` are weights per regime and the divisor of their sum; the default is the equal-weight mean.
    """
    weights, divisor = regimes or mean_of_regimes(families)
    means = [family.mean_units(fill, weights) for family in families]
    unit = lcm(*(mean.denominator for mean in means if mean is not None))
    cells: dict[tuple[int, int], list[tuple[str, Fraction | None]]] = defaultdict(list)
    for family, mean in zip(families, means, strict=True):
        cells[family.depth, family.filler].append((family.family_id, mean))
    strata = [
        Stratum(
            depth=depth,
            filler=filler,
            families=tuple(family_id for family_id, mean in members if mean is not None),
            units=tuple(int(mean * unit) for _, mean in members if mean is not None),
            planned=len(members),
        )
        for (depth, filler), members in sorted(cells.items())
    ]
    return PairedSample(tuple(strata), unit * divisor)


def paired_sample(trials: Iterable[ResultRow], selection: Selection, contrast: Contrast) -> PairedSample:
    """The sample of a contrast within a selection, regimes averaged with equal weight."""
    return sample_of(family_pairs(trials, selection, contrast))
