"""Failure examples by a rule fixed beforehand, so that no side can be flattered by the choice.

A pair is the same case and replicate under the two compared notations, both evaluable. Its hash is the smaller of its
two trial ids; of each kind the three pairs with the smallest hashes are shown, whatever they look like.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench.score.table import ResultRow

PER_KIND = 3
HEAD_LINES = 8
TAIL_LINES = 16


@dataclass(frozen=True, slots=True)
class Pair:
    """One case and replicate under both compared notations."""

    plus: ResultRow
    minus: ResultRow

    @property
    def hash(self) -> str:
        """The smaller of the two trial ids."""
        return min(self.plus.row.trial_id, self.minus.row.trial_id)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The pairs shown of one kind, and how many there are in all."""

    kind: str
    pairs: tuple[Pair, ...]
    total: int


def evaluable_pairs(trials: Iterable[ResultRow], *, plus: str, minus: str) -> list[Pair]:
    """Pairs of which both halves are evaluable, by hash."""
    halves: Mapping[str, dict[tuple[str, int], ResultRow]] = {plus: {}, minus: {}}
    for trial in trials:
        if trial.row.syntax in halves and trial.outcome.evaluable:
            halves[trial.row.syntax][trial.row.case_id, trial.row.replicate] = trial
    both = halves[plus].keys() & halves[minus].keys()
    return sorted((Pair(halves[plus][key], halves[minus][key]) for key in both), key=lambda pair: pair.hash)


def choose(pairs: Sequence[Pair], *, plus: str, minus: str) -> tuple[Chosen, ...]:
    """Up to three pairs of each of three kinds of failure, smallest hashes first; ``plus``, ``minus`` are letters."""
    kinds = (
        (f"{plus} correct, {minus} wrong", (1, 0)),
        (f"{plus} wrong, {minus} correct", (0, 1)),
        ("both wrong", (0, 0)),
    )
    chosen = []
    for kind, wanted in kinds:
        found = [pair for pair in pairs if (pair.plus.strict, pair.minus.strict) == wanted]
        chosen.append(Chosen(kind, tuple(found[:PER_KIND]), len(found)))
    return tuple(chosen)


@dataclass(frozen=True, slots=True)
class InputExcerpt:
    """Numbered lines of a prompt, and which they are, in words."""

    text: str
    ranges: str


def input_excerpt(message: str) -> InputExcerpt:
    """The TEST part of a user message: whole if short, else its first and last lines, with their numbers."""
    lines = message.removesuffix("\n").split("\n")
    start = max((at for at, line in enumerate(lines) if line == "TEST"), default=0)
    total = len(lines)
    if total - start <= HEAD_LINES + TAIL_LINES:
        return InputExcerpt(_numbered(lines, start, total), f"lines {start + 1}–{total} of {total}")
    head_end, tail_start = start + HEAD_LINES, total - TAIL_LINES
    gap = f"     | [… {tail_start - head_end} lines left out …]"
    text = "\n".join((_numbered(lines, start, head_end), gap, _numbered(lines, tail_start, total)))
    return InputExcerpt(text, f"lines {start + 1}–{head_end} and {tail_start + 1}–{total} of {total}")


def _numbered(lines: Sequence[str], first: int, end: int) -> str:
    return "\n".join(f"{at + 1:4d} | {lines[at]}" for at in range(first, end))
