"""Two finished runs, pair by pair: what differs in their protocols, and in which answers.

A pair is the same case, notation and replicate in both. Counts only: the two runs were not interleaved, so no test is
made of their difference.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.plan.plan_files import Plan
from bench.plan.records import ALL_SYNTAXES
from bench.report.csv_files import csv_text
from bench.report.escaping import one_line
from bench.report.notations import labelled, titled
from bench.report.show import SHOWN_ID, aligned
from bench.score.blinding import refuse_if_blinded
from bench.score.trials import load_trials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bench.plan.records import Syntax, Task, View
    from bench.score.table import ResultRow

SHOWN_PAIRS = 20
SHOWN_VALUE = 60
# parts of a protocol that follow from others, or that say the same of every plan
DERIVED = frozenset({"counts", "hashes.families", "hashes.cases", "hashes.gold", "preset", "config.name"})
PAIRS_HEADER = (
    *("case_id", "syntax", "replicate", "left_trial_id", "right_trial_id", "left_outcome", "right_outcome"),
    *("left_strict", "right_strict"),
)


class ComparisonError(Exception):
    """Two runs cannot be compared; one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class RunPair:
    """One case, notation and replicate in both runs."""

    left: ResultRow
    right: ResultRow

    @property
    def scores(self) -> tuple[int | None, int | None]:
        """The strict scores; None is missing."""
        return self.left.strict, self.right.strict


@dataclass(frozen=True, slots=True)
class RunDiff:
    """What differs between two runs. ``protocol`` holds (key, left, right); the two counts are of unpaired trials."""

    left_dir: Path
    right_dir: Path
    protocol: tuple[tuple[str, str, str], ...]
    pairs: tuple[RunPair, ...]
    left_only: int
    right_only: int

    @property
    def changed(self) -> list[RunPair]:
        """The pairs whose outcomes differ."""
        return [pair for pair in self.pairs if pair.left.outcome is not pair.right.outcome]


def diff_runs(left_dir: Path, right_dir: Path) -> RunDiff:
    """The difference of two finished runs.

    Raises:
        BlindedError: one is confirmatory and not finished.
        ComparisonError: one has trials that have not ended, or they share no pair.
    """
    plans = [_finished(run_dir) for run_dir in (left_dir, right_dir)]
    left, right = ({_key(trial): trial for trial in load_trials(run_dir)} for run_dir in (left_dir, right_dir))
    for run_dir, trials in ((left_dir, left), (right_dir, right)):
        missing = sum(not trial.terminal for trial in trials.values())
        if missing:
            raise ComparisonError(f"{run_dir}: {missing} of {len(trials)} trials have not ended; resume it first")
    shared = [key for key in left if key in right]
    if not shared:
        raise ComparisonError(
            f"{left_dir} and {right_dir} share no case in the same notation; only runs about the same families can be "
            "compared (preset key families_of)"
        )
    return RunDiff(
        left_dir=left_dir,
        right_dir=right_dir,
        protocol=tuple(_protocol_differences(plans[0].protocol, plans[1].protocol)),
        pairs=tuple(RunPair(left[key], right[key]) for key in shared),
        left_only=len(left) - len(shared),
        right_only=len(right) - len(shared),
    )


def _finished(run_dir: Path) -> Plan:
    refuse_if_blinded(run_dir)
    return Plan.open(run_dir, verify=False)


def _key(trial: ResultRow) -> tuple[str, str, int]:
    return trial.row.case_id, trial.row.syntax, trial.row.replicate


def _protocol_differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    flat_left, flat_right = dict(_flat(left)), dict(_flat(right))
    for key in {**flat_left, **flat_right}:
        if flat_left.get(key) != flat_right.get(key) and not any(key.startswith(part) for part in DERIVED):
            yield key, _shown(flat_left.get(key)), _shown(flat_right.get(key))


def _flat(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _flat(part, f"{key}.{name}" if key else name)
    else:
        yield key, value


def _shown(value: object) -> str:
    text = "-" if value is None else one_line(str(value))
    return text if len(text) <= SHOWN_VALUE else text[: SHOWN_VALUE - 1] + "…"


def diff_lines(diff: RunDiff) -> Iterator[str]:
    """The difference for a terminal."""
    yield f"left:  {diff.left_dir}"
    yield f"right: {diff.right_dir}"
    yield f"{len(diff.pairs)} pairs; {diff.left_only} trials only left, {diff.right_only} only right"
    yield ""
    yield "What differs in the protocols:"
    rows = [("key", "left", "right"), *diff.protocol]
    yield from aligned(rows) if diff.protocol else ["nothing"]
    yield ""
    yield "Pairs (same case, notation, replicate); a share is of the pairs that can be judged in both runs:"
    yield from aligned([_HEAD, *_summary(diff.pairs)])
    yield ""
    yield f"{len(diff.changed)} pairs with another outcome" + (":" if diff.changed else ".")
    yield from aligned([_changed_row(pair) for pair in diff.changed[:SHOWN_PAIRS]]) if diff.changed else []
    if len(diff.changed) > SHOWN_PAIRS:
        yield f"… and {len(diff.changed) - SHOWN_PAIRS} more (--csv FILE writes every pair)"
    yield "The runs were not interleaved: whatever else changed between them is in these differences too."


_HEAD = (
    *("task and view", "notation", "judged", "both right", "left only", "right only", "both wrong"),
    *("left", "right", "right − left, pp"),
)


def _summary(pairs: Sequence[RunPair]) -> list[tuple[str, ...]]:
    groups: dict[tuple[Task, View, Syntax], list[RunPair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.left.row.task, pair.left.row.view, pair.left.row.syntax].append(pair)
    letters = {syntax: number for number, syntax in enumerate(ALL_SYNTAXES)}
    order = sorted(groups, key=lambda key: (key[0], key[1], letters[key[2]]))
    return [_summary_row(key, groups[key]) for key in order]


def _summary_row(key: tuple[Task, View, Syntax], pairs: Sequence[RunPair]) -> tuple[str, ...]:
    judged = [pair.scores for pair in pairs if None not in pair.scores]
    counts = [judged.count(kind) for kind in ((1, 1), (1, 0), (0, 1), (0, 0))]
    left, right = counts[0] + counts[1], counts[0] + counts[2]
    shares = [f"{100 * number / len(judged):.1f} %" if judged else "NA" for number in (left, right)]
    difference = f"{100 * (right - left) / len(judged):+.1f}" if judged else "NA"
    return titled(*key[:2]), labelled(key[2]), str(len(judged)), *map(str, counts), *shares, difference


def _changed_row(pair: RunPair) -> tuple[str, ...]:
    return (
        one_line(pair.left.row.case_id),
        labelled(pair.left.row.syntax),
        f"{pair.left.outcome} -> {pair.right.outcome}",
        f"{pair.left.row.trial_id[:SHOWN_ID]} {pair.right.row.trial_id[:SHOWN_ID]}",
    )


def pairs_csv(diff: RunDiff) -> str:
    """Every pair, one a row."""
    return csv_text(PAIRS_HEADER, (_csv_row(pair) for pair in diff.pairs))


def _csv_row(pair: RunPair) -> tuple[object, ...]:
    row = pair.left.row
    return (
        *(row.case_id, row.syntax, row.replicate, row.trial_id, pair.right.row.trial_id),
        *(pair.left.outcome.value, pair.right.outcome.value, *pair.scores),
    )
