"""The events of a program in depth-first order. Nothing else; the two oracles must not import this."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.lang.ast import Program, Scope
from bench.lang.events import Close, Event, Open

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bench.lang.ast import Stmt


def events_of(program: Program) -> tuple[Event, ...]:
    """All events of ``program``; a cut with event count n stands just after the first n."""
    return tuple(_walk(program.body))


def _walk(body: Iterable[Stmt]) -> Iterator[Event]:
    for stmt in body:
        if isinstance(stmt, Scope):
            yield Open(stmt.kind, stmt.name)
            yield from _walk(stmt.body)
            yield Close()
        else:
            yield stmt
