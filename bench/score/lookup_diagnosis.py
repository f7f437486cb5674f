"""Which binding a wrong T1 answer names (specification, 10.6).

Several readings can give one value (with a single close, the deepest closed scope is also one close too few); all are
listed, and ``answered`` is the first in the order of ``READINGS``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.score.prefix import read_prefix, visible

if TYPE_CHECKING:
    from bench.lang.ast import CutPoint, Program
    from bench.score.prefix import Prefix

READINGS = (
    "one_too_few",
    "deepest_closed",
    "one_too_many",
    "decoy",
    "other_closed",
    "outer_binding",
    "other_variable",
    "not_in_program",
)


def diagnose_lookup(answer: int, program: Program, cut: CutPoint) -> dict[str, object]:
    """``answered`` and ``matches`` for a wrong integer, by what stands before the cut."""
    prefix = read_prefix(program, cut)
    candidates = _candidates(prefix, cut.variable)
    matches = [reading for reading in READINGS if answer in candidates.get(reading, ())]
    if not matches:
        matches = ["not_in_program"]
    return {"answered": matches[0], "matches": matches}


def _candidates(prefix: Prefix, variable: str) -> dict[str, set[int]]:
    """The values each reading would give."""
    run = prefix.run
    scopes = (*prefix.open, *prefix.closed)
    readings: dict[str, set[int | None]] = {
        "one_too_few": {visible((*prefix.open, run[-1]), variable)} if run else set(),
        "deepest_closed": {run[0].bindings.get(variable)} if run else set(),
        "one_too_many": {visible(prefix.open[:-1], variable)},
        "decoy": {scope.bindings.get(variable) for scope in prefix.siblings},
        "other_closed": {scope.bindings.get(variable) for scope in run},
        "outer_binding": {scope.bindings.get(variable) for scope in prefix.open},
        "other_variable": {value for scope in scopes for name, value in scope.bindings.items() if name != variable},
    }
    return {reading: {value for value in values if value is not None} for reading, values in readings.items()}
