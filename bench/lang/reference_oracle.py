"""What is visible at a cut, found by recursion over the tree.

Imports the tree's types and nothing else of the language: no events, no text, no stack. It exists to disagree with
`event_oracle` whenever one of the two is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.lang.ast import Let, Nop, Observation
from bench.lang.errors import OracleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.lang.ast import CutPoint, Program, Stmt


@dataclass(frozen=True, slots=True)
class _Seen:
    """The cut was reached: the bindings visible there and the names of the blocks around it."""

    visible: Mapping[str, int]
    path: tuple[str, ...]


def observe(program: Program, cut: CutPoint) -> Observation:
    """The value of ``cut.variable`` and the open blocks there; OracleError if out of range or unbound."""
    if cut.event_count < 0:
        raise OracleError(f"a cut after {cut.event_count} events")
    reached = _enter(program.body, cut.event_count, {}, ())
    if not isinstance(reached, _Seen):
        raise OracleError(f"the cut lies {reached} events behind the end of the program")
    if cut.variable not in reached.visible:
        raise OracleError(f"{cut.variable} is not bound at the cut")
    return Observation(reached.visible[cut.variable], reached.path)


def _enter(body: tuple[Stmt, ...], left: int, outer: Mapping[str, int], path: tuple[str, ...]) -> _Seen | int:
    """Read ``body`` with ``left`` events to go: what is seen at the cut, or the events still to go behind it."""
    visible = dict(outer)
    for stmt in body:
        if left == 0:
            break
        left -= 1
        if isinstance(stmt, Let):
            visible[stmt.variable] = stmt.value
        elif not isinstance(stmt, Nop):
            inside = _enter(stmt.body, left, visible, (*path, stmt.name))
            if isinstance(inside, _Seen):
                return inside
            left = inside - 1  # the block's close is an event too
    return _Seen(visible, path) if left == 0 else left
