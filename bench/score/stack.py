"""Grades a T2 answer: the whole answer must be a JSON array of strings, names and order exact (specification, 10.1)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bench.score.outcome import Outcome
from bench.score.prefix import read_prefix
from bench.wire.strict_json import JsonError, loads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.lang.ast import CutPoint, Program


def read_stack(text: str) -> list[str] | None:
    """The names of the answer; ``None`` unless the whole text is strict JSON and an array of strings."""
    try:
        value = loads(text)
    except JsonError:
        return None
    if not isinstance(value, list):
        return None
    names = [item for item in value if isinstance(item, str)]
    return names if len(names) == len(value) else None


def grade_stack(text: str, stack: Sequence[str]) -> tuple[Outcome, str]:
    """Outcome and reason."""
    names = read_stack(text)
    if names is None:
        return Outcome.INVALID_ANSWER_FORMAT, "no answer text" if not text.strip() else "not a JSON array of strings"
    if names == list(stack):
        return Outcome.CORRECT, "exact stack"
    return Outcome.WRONG_ANSWER, "another stack"


def diagnose_stack(
    names: Sequence[str], stack: Sequence[str], program: Program | None, cut: CutPoint | None
) -> dict[str, object]:
    """Length difference, repeated names and misorder; with the program, also unknown and already closed names."""
    common = [name for name in dict.fromkeys(names) if name in set(stack)]
    expected_order = [name for name in stack if name in set(common)]
    diagnosis: dict[str, object] = {
        "length_difference": len(names) - len(stack),
        "missing_names": len(set(stack) - set(names)),
        "repeated_names": sum(count - 1 for count in Counter(names).values()),
        "misordered": common != expected_order,
    }
    if program is not None and cut is not None:
        closed = {scope.name for scope in read_prefix(program, cut).closed}
        surplus = [name for name in dict.fromkeys(names) if name not in set(stack)]
        diagnosis["closed_names"] = sum(name in closed for name in surplus)
        diagnosis["unknown_names"] = sum(name not in closed for name in surplus)
    return diagnosis
