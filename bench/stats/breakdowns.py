"""The same contrast over parts of a run: regimes and their interaction, lookups, cells, and with one part left out.

All of it is exploratory. Seeded intervals as for the whole; no verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.stats.contrast_result import Intervals, detectable_pp, flags_of, intervals_of
from bench.stats.paired import family_pairs, sample_of, to_pp
from bench.stats.signflip import sign_flip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bench.plan.records import Lexical
    from bench.score.table import ResultRow
    from bench.stats.bootstrap import Interval
    from bench.stats.contrast import Contrast, Selection
    from bench.stats.paired import PairedSample
    from bench.stats.settings import AnalysisSettings

INTERACTION: tuple[Mapping[Lexical, int], int] = ({"natural": -1, "nonce": 1}, 1)


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One part. ``estimate_pp`` is ``None`` where a stratum of the part is empty or nothing is available."""

    label: str
    estimate_pp: float | None
    ci95: Interval | None
    signflip_p: float | None
    families: int
    families_planned: int
    discordant_families: int
    flags: tuple[str, ...]
    mde_pp: float | None


def breakdowns(
    trials: Sequence[ResultRow], whole: Selection, contrast: Contrast, settings: AnalysisSettings
) -> tuple[Breakdown, ...]:
    """Regimes and interaction first, then lookup kinds, depths, fillers, cells, and the leave-one-out estimates."""
    compared = {contrast.plus, contrast.minus}
    rows = [trial for trial in trials if trial.row.syntax in compared and whole.admits(trial)]
    parts = [
        breakdown(label, sample_of(family_pairs(rows, part, contrast)), settings) for label, part in _parts(rows, whole)
    ]
    if len({trial.row.lexical for trial in rows}) > 1:
        families = family_pairs(rows, whole, contrast)
        parts.insert(2, breakdown("nonce minus natural", sample_of(families, regimes=INTERACTION), settings))
    return tuple(parts)


def breakdown(label: str, sample: PairedSample, settings: AnalysisSettings) -> Breakdown:
    """One part's estimate, interval and test."""
    defined = bool(sample.families) and not sample.has_empty_stratum
    intervals = intervals_of(sample, settings) if defined else Intervals()
    return Breakdown(
        label=label,
        estimate_pp=to_pp(sample.estimate()) if defined else None,
        ci95=intervals.ci95,
        signflip_p=sign_flip(sample, seed=settings.bootstrap_seed).p if defined else None,
        families=sample.families,
        families_planned=sample.planned,
        discordant_families=sample.discordant,
        flags=flags_of(sample, intervals),
        mde_pp=detectable_pp(sample, intervals, settings) if defined else None,
    )


def _parts(rows: Sequence[ResultRow], whole: Selection) -> Iterator[tuple[str, Selection]]:
    schedule = [trial.row for trial in rows]
    for lexical in sorted({row.lexical for row in schedule}):
        yield lexical, replace(whole, lexical=lexical)
    for kind in sorted({row.lookup_kind for row in schedule}):
        yield kind, replace(whole, lookup_kind=kind)
    for depth in sorted({row.depth for row in schedule}):
        yield f"depth={depth}", replace(whole, depth=depth)
    for filler in sorted({row.filler for row in schedule}):
        yield f"filler={filler}", replace(whole, filler=filler)
    cells = sorted({(row.depth, row.filler) for row in schedule})
    for depth, filler in cells:
        yield f"cell={depth}x{filler}", replace(whole, depth=depth, filler=filler)
    for cell in cells if len(cells) > 1 else ():
        yield f"without cell {cell[0]}x{cell[1]}", replace(whole, without_cell=cell)
    sets = sorted({row.example_set for row in schedule})
    for example_set in sets if len(sets) > 1 else ():
        yield f"without example set {example_set}", replace(whole, without_example_set=example_set)
