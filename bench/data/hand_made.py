"""Hand-made programs as families: read with the strict parser, counted, never changed.

The answers that stand beside them were written by a person; they are compared with the oracles in `bench.audit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.data.family import Family
from bench.data.seeds import Purpose, child_seed, namespace
from bench.lang.ast import CutPoint, Let, Nop
from bench.lang.errors import ParseError
from bench.lang.events import Close, Open
from bench.lang.lexicon import NATURAL, PROBE_WORD
from bench.lang.parse import parse_prefix, parse_program
from bench.lang.syntax import NOTATIONS, RenderSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.data.structure import LookupKind
    from bench.lang.events import Event

_SPEC = RenderSpec(NOTATIONS["named_end"], NATURAL)


class HandMadeError(Exception):
    """A hand-made program that cannot be read as one; the message names it."""


def hand_made_family(preset: str, index: int, lines: Sequence[str], master_seed: int) -> Family:
    """The family of one program with its probe in place; depth, filler and lookup kind are counted from it.

    Raises:
        HandMadeError: no probe or several, or lines that are no program of ``named_end``.
    """
    family_id = f"{preset}-s{index}"
    probes = [number for number, line in enumerate(lines) if line.split()[:1] == [PROBE_WORD]]
    if len(probes) != 1:
        raise HandMadeError(f"{family_id}: expected one probe line, got {len(probes)}")
    try:
        prefix = parse_prefix("\n".join(lines[: probes[0] + 1]), _SPEC)
        program = parse_program("\n".join((*lines[: probes[0]], *lines[probes[0] + 1 :])), _SPEC)
    except ParseError as error:
        raise HandMadeError(f"{family_id}: {error}") from None
    closes = _final_closes(prefix.events)
    cuts = [CutPoint(len(prefix.events) - back, prefix.probe.probe_id, prefix.probe.variable) for back in (closes, 0)]
    return Family(
        family_id=family_id,
        group="reading",
        depth=_peak_depth(prefix.events),
        filler=sum(isinstance(event, Nop) for event in prefix.events),
        seed_index=index,
        lookup_kind=_lookup_kind(prefix.events, prefix.probe.variable),
        program=program,
        before_cut=cuts[0],
        after_cut=cuts[1],
        siblings=(),
        skeleton=skeleton_of(prefix.events, prefix.probe.variable),
        attempt=0,
        seeds={
            purpose.value: child_seed(master_seed, namespace(preset, purpose, "hand-made"), index)
            for purpose in (Purpose.IDENTIFIER, Purpose.EXAMPLE)
        },
    )


def skeleton_of(events: Sequence[Event], variable: str) -> str:
    """The event string of a prefix, as `bench.data.structure` writes it."""
    return "".join(_mark(event, variable) for event in events)


def _mark(event: Event, variable: str) -> str:
    match event:
        case Open():
            return "("
        case Close():
            return ")"
        case Let(name):
            return "v" if name == variable else "o"
        case Nop():
            return ""


def _final_closes(events: Sequence[Event]) -> int:
    count = 0
    while count < len(events) and isinstance(events[-1 - count], Close):
        count += 1
    return count


def _peak_depth(events: Sequence[Event]) -> int:
    depth = peak = 0
    for event in events:
        depth += isinstance(event, Open) - isinstance(event, Close)
        peak = max(peak, depth)
    return peak


def _lookup_kind(events: Sequence[Event], variable: str) -> LookupKind:
    """Inner if the innermost open scope binds ``variable`` itself."""
    bound: list[bool] = [False]
    for event in events:
        if isinstance(event, Open):
            bound.append(False)
        elif isinstance(event, Close):
            bound.pop()
        elif isinstance(event, Let) and event.variable == variable:
            bound[-1] = True
    return "inner" if bound[-1] else "outer"
