"""How often the intervals and tests are right: thousands of simulated experiments with a known effect.

Each family has two regimes. In each, generic_end is right with the base accuracy and named_end with the base accuracy
plus the effect, independently; with probability 1/2 the second regime repeats the first, so that a family's regimes
are correlated by 1/2. The analysis itself judges every experiment: the exact bootstrap distribution stands for the
10,000 resamples (their ends agree within Monte Carlo error, which every analysis tests).

    python benchmarks/calibration.py --out docs/calibration-table.md     # some minutes
    python benchmarks/calibration.py --experiments 200                   # a look
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.stats.contrast_result import WEAK, Intervals, flags_of
from bench.stats.exact import exact_bootstrap
from bench.stats.paired import PairedSample, Stratum
from bench.stats.signflip import sign_flip
from bench.stats.tinterval import t_interval
from bench.stats.verdict import Evidence, decide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.stats.bootstrap import Interval

REPEATED = 0.5
SIZES = {"pilot": (9, 4), "ten a cell": (16, 10), "main": (16, 32)}
TRUTHS = ((0.50, 0), (0.50, 10), (0.80, 0), (0.80, 5), (0.98, 0), (0.98, 1))
"""Base accuracy and effect in percentage points; 0.98 is the ceiling at which the protocol asks for harder cases."""
SMALLEST_EFFECT_PP = 5.0
COLUMNS = (
    "size",
    "cells x families",
    "base accuracy",
    "effect pp",
    "bias pp",
    "coverage percentile 95 %",
    "coverage t 95 %",
    "percentile excludes 0",
    "sign-flip p < .05",
    "no interval",
    "narrow",
    "verdict positive or negative",
    "equivalent",
)


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table."""

    size: str
    cells: int
    families: int
    base: float
    effect_pp: int


@dataclass(slots=True)
class Tally:
    """What happened in the experiments of one setting."""

    effect_pp: float
    estimates: list[float] = field(default_factory=list)
    with_interval: int = 0
    covered: int = 0
    t_covered: int = 0
    t_intervals: int = 0
    excludes_zero: int = 0
    flip_rejects: int = 0
    narrow: int = 0
    directional: int = 0
    equivalent: int = 0

    def add(self, sample: PairedSample) -> None:
        """Judge one experiment as an analysis would."""
        exact = exact_bootstrap(sample)
        ci = exact.interval() if exact is not None and sample.discordant else None
        t95, t90 = (t_interval(sample, confidence=confidence) for confidence in (0.95, 0.90))
        flags = flags_of(sample, Intervals(ci95=ci, t95=t95, t90=t90))
        weak = tuple(flag for flag in WEAK if flag in flags)
        word = decide(Evidence((), weak, ci, t90, SMALLEST_EFFECT_PP)).word
        self.estimates.append(100 * sample.total / sample.scale)
        self.with_interval += ci is not None
        self.covered += covers(ci, self.effect_pp)
        self.t_intervals += t95 is not None
        self.t_covered += covers(t95, self.effect_pp)
        self.excludes_zero += ci is not None and ci.excludes_zero
        self.flip_rejects += sign_flip(sample, seed=0).p < 0.05
        self.narrow += "narrow" in flags
        self.directional += word in {"positive", "negative"}
        self.equivalent += word == "equivalent"

    def row(self, setting: Setting) -> str:
        """The setting's line of the table."""
        n = len(self.estimates)
        bias = sum(self.estimates) / n - self.effect_pp
        shares = (
            self.excludes_zero,
            self.flip_rejects,
            n - self.with_interval,
            self.narrow,
            self.directional,
            self.equivalent,
        )
        cells = [
            setting.size,
            f"{setting.cells} x {setting.families}",
            f"{setting.base:.2f}",
            f"{setting.effect_pp:+d}",
            f"{bias:+.2f}",
            ratio(self.covered, self.with_interval),
            ratio(self.t_covered, self.t_intervals),
            *(ratio(share, n) for share in shares),
        ]
        return "| " + " | ".join(cells) + " |"


def covers(interval: Interval | None, effect_pp: float) -> bool:
    """Whether the interval holds the true effect, its ends included."""
    return interval is not None and interval.low_pp - 1e-9 <= effect_pp <= interval.high_pp + 1e-9


def ratio(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"


def experiments(setting: Setting, count: int, rng: np.random.Generator) -> Iterator[PairedSample]:
    """Simulated experiments, one after the other."""
    names = tuple(str(index) for index in range(setting.families))
    shape = (setting.cells, setting.families, 2)
    for _ in range(count):
        minus = rng.random(shape) < setting.base
        plus = rng.random(shape) < setting.base + setting.effect_pp / 100
        pairs = plus.astype(int) - minus
        repeated = rng.random(shape[:2]) < REPEATED
        pairs[..., 1] = np.where(repeated, pairs[..., 0], pairs[..., 1])
        units = pairs.sum(axis=2).tolist()
        strata = (Stratum(2, cell, names, tuple(row), len(row)) for cell, row in enumerate(units))
        yield PairedSample(tuple(strata), 2)


def table(count: int, seed: int) -> Iterator[str]:
    """The Markdown table, a line as soon as it is known; progress goes to standard error."""
    yield "| " + " | ".join(COLUMNS) + " |"
    yield "|" + "---|" * len(COLUMNS)
    settings = [Setting(size, *SIZES[size], base, effect) for size in SIZES for base, effect in TRUTHS]
    for number, setting in enumerate(settings):
        start = time.perf_counter()
        tally = Tally(setting.effect_pp)
        for sample in experiments(setting, count, np.random.default_rng([seed, number])):
            tally.add(sample)
        print(f"{number + 1}/{len(settings)} {setting} {time.perf_counter() - start:.0f} s", file=sys.stderr)
        yield tally.row(setting)


def note(count: int, seed: int) -> str:
    """What a reader of the table must know."""
    error = 1.96 * sqrt(0.05 * 0.95 / count)
    return (
        f"{count} simulated experiments per row, seed {seed}; a rate near .05 or .95 is known to +-{error:.3f}. "
        f'Regimes of a family correlate by {REPEATED}. Where the effect is 0, the columns "excludes 0", "sign-flip" '
        'and "verdict" are false-positive rates, elsewhere power. Coverage is over the experiments that have the '
        f"interval. The verdict follows the decision rule with a smallest effect of {SMALLEST_EFFECT_PP:g} pp: a "
        "narrow interval never decides, whatever it excludes."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=5000, help="simulated experiments per setting")
    parser.add_argument("--seed", type=int, default=20261005)
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    lines = []
    for line in table(options.experiments, options.seed):
        print(line, flush=True)
        lines.append(line)
    lines += ["", note(options.experiments, options.seed)]
    print("\n".join(lines[-2:]))
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
