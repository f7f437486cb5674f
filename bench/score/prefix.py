"""What a reader of a prefix could confuse: which scopes are open, which were closed, who binds what.

Serves diagnosis only. Gold comes from the plan and never from here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.lang.ast import Let
from bench.lang.events import Close, Open
from bench.lang.walk import events_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.lang.ast import CutPoint, Program

GLOBAL = ""


@dataclass(slots=True)
class SeenScope:
    """A scope that was opened before the cut; the global scope has the empty name."""

    name: str
    bindings: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The scopes at a cut: open ones outermost first, closed ones in the order of closing.

    ``final_closes`` of the closed ones were closed by the run of closes that ends the prefix.
    """

    open: tuple[SeenScope, ...]
    closed: tuple[SeenScope, ...]
    final_closes: int

    @property
    def run(self) -> tuple[SeenScope, ...]:
        """The scopes of the final run of closes, the deepest first."""
        return self.closed[len(self.closed) - self.final_closes :]

    @property
    def siblings(self) -> tuple[SeenScope, ...]:
        """The scopes that were closed before the final run."""
        return self.closed[: len(self.closed) - self.final_closes]


def read_prefix(program: Program, cut: CutPoint) -> Prefix:
    """The scopes at ``cut``; a cut beyond the program counts as its end."""
    still_open = [SeenScope(GLOBAL)]
    closed: list[SeenScope] = []
    run = 0
    for event in events_of(program)[: cut.event_count]:
        run = run + 1 if isinstance(event, Close) else 0
        match event:
            case Open(_, name):
                still_open.append(SeenScope(name))
            case Close():
                closed.append(still_open.pop())
            case Let(variable, value):
                still_open[-1].bindings[variable] = value
    return Prefix(tuple(still_open), tuple(closed), run)


def visible(scopes: Sequence[SeenScope], variable: str) -> int | None:
    """The innermost binding of a variable in open scopes given outermost first; ``None`` if there is none."""
    return next((scope.bindings[variable] for scope in reversed(scopes) if variable in scope.bindings), None)
