"""Where the events stand that the measures of a prompt speak of. Event numbers only; no text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.lang.ast import Let
from bench.lang.events import Close, Open
from bench.lang.walk import events_of
from bench.prompt.measure import Landmarks

if TYPE_CHECKING:
    from bench.data.family import Family
    from bench.lang.ast import CutPoint


def landmarks_of(family: Family, cut: CutPoint) -> Landmarks:
    """The landmarks of one prefix of ``family``."""
    events = events_of(family.program)
    before = family.before_cut.event_count
    opens: list[int] = []
    bindings: list[int | None] = [None]
    focus_opener = 0
    for number, event in enumerate(events[: cut.event_count]):
        if number == before:
            focus_opener = opens[-1]
        match event:
            case Open():
                opens.append(number)
                bindings.append(None)
            case Close():
                opens.pop()
                bindings.pop()
            case Let(variable) if variable == cut.variable:
                bindings[-1] = number
            case _:
                pass
    return Landmarks(
        focus_opener=opens[-1] if cut.event_count == before else focus_opener,
        binding=next(number for number in reversed(bindings) if number is not None),
        close_run=before if cut.event_count > before else None,
        probe=cut.event_count,
    )
