"""Programs and prefixes as text. Knows no parser and no oracle.

One event is one line, so line i (from 0) of a text is event i. Every line ends in LF, the last one too; a program
without statements is the empty text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from bench.lang.ast import Let, Nop
from bench.lang.events import Close, Open
from bench.lang.lexicon import PROBE_WORD
from bench.lang.syntax import ALIAS, END, KIND, NAME
from bench.lang.walk import events_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.lang.ast import CutPoint, Program
    from bench.lang.events import Event
    from bench.lang.syntax import RenderSpec


def render_program(program: Program, spec: RenderSpec) -> str:
    """The whole program in the notation and lexicon of ``spec``."""
    return _joined(_lines(events_of(program), spec)[0])


def render_prefix(program: Program, cut: CutPoint, spec: RenderSpec) -> str:
    """The first ``cut.event_count`` events, then the probe; ValueError if the program has fewer events."""
    return _joined(prefix_lines(program, cut, spec))


def prefix_lines(program: Program, cut: CutPoint, spec: RenderSpec) -> list[str]:
    """The lines of `render_prefix` without their LF: one per event, the probe last."""
    events = events_of(program)
    if not 0 <= cut.event_count <= len(events):
        raise ValueError(f"a cut after {cut.event_count} events, but the program has {len(events)}")
    lines, depth = _lines(events[: cut.event_count], spec)
    probe = f"{PROBE_WORD} {cut.probe_id} {cut.variable}"
    return [*lines, " " * (spec.indent * depth) + probe]


def _joined(lines: Iterable[str]) -> str:
    return "".join(line + "\n" for line in lines)


def _lines(events: Iterable[Event], spec: RenderSpec) -> tuple[list[str], int]:
    """The line of each event, and the number of blocks still open after the last."""
    lines: list[str] = []
    still_open: list[Open] = []
    for event in events:
        match event:
            case Open():
                level = len(still_open)
                text = _filled(spec.notation.opener, event, spec)
                still_open.append(event)
            case Close():
                opened = still_open.pop()
                level = len(still_open)
                text = _filled(spec.notation.closer, opened, spec)
            case Let(variable, value):
                level = len(still_open)
                text = f"{spec.lexicon.let} {variable} {value}"
            case Nop(payload):
                level = len(still_open)
                text = f"{spec.lexicon.nop} {payload}"
            case _:
                assert_never(event)
        lines.append(" " * (spec.indent * level) + text)
    return lines, len(still_open)


def _filled(template: str, block: Open, spec: RenderSpec) -> str:
    """``template`` with the words of ``block``; KeyError if it asks for an alias that ``spec`` does not hold."""
    text = template.replace(END, spec.lexicon.end).replace(KIND, spec.lexicon.kind_word(block.kind))
    text = text.replace(NAME, block.name)
    return text.replace(ALIAS, spec.aliases[block.name]) if ALIAS in text else text
