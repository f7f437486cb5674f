"""Time of the primary interval against ``scipy.stats.bootstrap`` on the same strata, and of the exact distribution.

Ratios from alternating repeats in one process, so that they mean something on any machine. Run by hand:

    python benchmarks/bootstrap_speed.py

Aims: the seeded interval takes no longer than scipy's; the exact distribution is at least 20 times faster than it.
"""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from bench.stats.bootstrap import Interval, bootstrap
from bench.stats.exact import exact_bootstrap
from bench.stats.paired import PairedSample, Stratum
from bench.stats.signflip import sign_flip
from bench.stats.tinterval import t_interval

if TYPE_CHECKING:
    from collections.abc import Callable

SEED, RESAMPLES, REPEATS = 20261005, 10_000, 9
SIZES = (("pilot", 9, 4), ("main", 16, 32), ("four times main", 16, 128))


def simulated(cells: int, families: int) -> PairedSample:
    """Differences of two regimes as a pilot might show them."""
    rng = np.random.default_rng(SEED)
    units = rng.choice([-2, -1, 0, 1, 2], p=[0.02, 0.1, 0.66, 0.17, 0.05], size=(cells, families))
    names = tuple(str(index) for index in range(families))
    return PairedSample(tuple(Stratum(2, k, names, tuple(map(int, row)), families) for k, row in enumerate(units)), 2)


def by_scipy(sample: PairedSample) -> Interval:
    """The same interval with each stratum as a sample of its own."""
    found = stats.bootstrap(
        [np.array(stratum.units) / sample.unit for stratum in sample.strata],
        lambda *cells, axis: sum(cell.mean(axis=axis) for cell in cells) / len(cells),
        paired=False,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=None,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Interval(100 * float(found.low), 100 * float(found.high))


def timed(actions: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median seconds of each action, the actions taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(REPEATS):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            seconds[name].append(time.perf_counter() - start)
    return {name: median(taken) for name, taken in seconds.items()}


def main() -> None:
    print("| data | cells x families | scipy ms | seeded / scipy | scipy / exact | sign-flip ms | t ms | same ends |")
    print("|---|---|---|---|---|---|---|---|")
    for name, cells, families in SIZES:
        sample = simulated(cells, families)
        taken = timed(
            {
                "scipy": lambda sample=sample: by_scipy(sample),
                "seeded": lambda sample=sample: bootstrap(sample, seed=SEED, resamples=RESAMPLES).interval(),
                "exact": lambda sample=sample: exact_bootstrap(sample),
                "flip": lambda sample=sample: sign_flip(sample, seed=SEED),
                "t": lambda sample=sample: t_interval(sample, confidence=0.95),
            }
        )
        ours, theirs = bootstrap(sample, seed=SEED, resamples=RESAMPLES).interval(), by_scipy(sample)
        same = np.allclose([ours.low_pp, ours.high_pp], [theirs.low_pp, theirs.high_pp], atol=1e-9)
        print(
            f"| {name} | {cells} x {families} | {1000 * taken['scipy']:.1f} | {taken['seeded'] / taken['scipy']:.2f} "
            f"| {taken['scipy'] / taken['exact']:.0f} | {1000 * taken['flip']:.2f} | {1000 * taken['t']:.2f} "
            f"| {'yes' if same else 'NO'} |"
        )


if __name__ == "__main__":
    main()
