"""Checks on one family at a time, and on all families together: geometry, wrong ways to close, skeletons.

Everything is counted again from the program; what the family's row says of itself is compared, not trusted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.data.hand_made import skeleton_of
from bench.data.shortcuts import TRACKING_RULES, marks_of
from bench.data.structure import EXAMPLE_CLASS, class_of_preset, closures_at, skeleton_class
from bench.lang.ast import CutPoint, Let, Nop
from bench.lang.errors import ParseError
from bench.lang.events import Close, Open
from bench.lang.names import MAX_DEPTH, MAX_VALUE, MIN_VALUE
from bench.lang.parse import parse_program
from bench.lang.reference_oracle import observe
from bench.lang.render import render_program
from bench.lang.tree import program_to_json
from bench.lang.walk import events_of
from bench.prompt.examples import example_bank
from bench.wire.strict_json import JsonError, loads

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.audit.findings import Findings
    from bench.data.family import Family
    from bench.data.terms import Task
    from bench.lang.events import Event
    from bench.lang.syntax import RenderSpec

SIBLINGS = 2


@dataclass(slots=True)
class FamilyAudit:
    """Checks families one after another; what must be unique among them is remembered here."""

    preset: str
    hand_made: bool
    tasks: Sequence[Task]
    skeletons: dict[tuple[str, str], str] = field(default_factory=dict)
    example_skeletons: set[str] = field(default_factory=set)
    example_names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for task in self.tasks:
            for example in (example for examples in example_bank(task) for example in examples):
                self.example_skeletons.add(example.family.skeleton)
                self.example_names.update(names_of(example.family))

    def check(self, family: Family, specs: Iterable[RenderSpec], findings: Findings) -> None:
        """Everything that must hold of ``family``; ``specs`` are the ways in which its trials are written."""
        events = events_of(family.program)
        _check_words(family, events, findings)
        _check_geometry(family, events, findings, hand_made=self.hand_made)
        _check_answers(family, events, findings, hand_made=self.hand_made)
        _check_round_trip(family, specs, findings)
        self._check_skeleton(family, events, findings)

    def _check_skeleton(self, family: Family, events: tuple[Event, ...], findings: Findings) -> None:
        name = family.family_id
        skeleton = skeleton_of(events[: family.after_cut.event_count], family.variable)
        twin = self.skeletons.setdefault((family.group, skeleton), name)
        findings.must("skeletons are unique", twin == name and skeleton == family.skeleton, name)
        found = skeleton_class(skeleton)
        holds = found != EXAMPLE_CLASS if self.hand_made else found == class_of_preset(self.preset)
        findings.must("skeletons have the class of their preset", holds, name)
        stranger = skeleton not in self.example_skeletons and not names_of(family) & self.example_names
        findings.must("families share no skeleton and no name with examples", stranger, name)


def names_of(family: Family) -> set[str]:
    """All block, nop and probe names of a family."""
    events = events_of(family.program)
    blocks = {event.name for event in events if isinstance(event, Open)}
    nops = {event.payload for event in events if isinstance(event, Nop)}
    return blocks | nops | {family.after_cut.probe_id}


def _check_words(family: Family, events: tuple[Event, ...], findings: Findings) -> None:
    values = [event.value for event in events if isinstance(event, Let)]
    blocks = [event.name for event in events if isinstance(event, Open)]
    holds = len(set(values)) == len(values) and all(MIN_VALUE <= value <= MAX_VALUE for value in values)
    findings.must("values are distinct four-digit integers", holds, family.family_id)
    findings.must("block names are unique", len(set(blocks)) == len(blocks), family.family_id)


def _check_geometry(family: Family, events: tuple[Event, ...], findings: Findings, *, hand_made: bool) -> None:
    depth = peak = 0
    for event in events:
        depth += isinstance(event, Open) - isinstance(event, Close)
        peak = max(peak, depth)
    before, after = family.before_cut.event_count, family.after_cut.event_count
    nops = [number for number, event in enumerate(events) if isinstance(event, Nop)]
    holds = (
        0 < before < after <= len(events)
        and depth == 0
        and peak == family.depth <= MAX_DEPTH
        and all(isinstance(event, Close) for event in events[before:])
        and nops == list(range(before - family.filler, before))
        and (hand_made or family.closures == closures_at(family.depth))
    )
    findings.must("depth, filler, closes and cuts are as designed", holds, family.family_id)
    try:
        readable = loads(json.dumps(program_to_json(family.program))) == program_to_json(family.program)
    except JsonError:
        readable = False
    findings.must("trees stay inside the limits of JSON and parser", readable, family.family_id)


def _check_answers(family: Family, events: tuple[Event, ...], findings: Findings, *, hand_made: bool) -> None:
    name = family.family_id
    before, after = (observe(family.program, cut).value for cut in (family.before_cut, family.after_cut))
    findings.must("the answer differs before and after the closes", before != after, name)
    decoys = _decoys(events[: family.before_cut.event_count], family.variable)
    holds = not set(decoys) & {before, after} and (hand_made or len(decoys) == SIBLINGS)
    findings.must("two closed siblings bind the variable, and neither is an answer", holds, name)
    never = observe(family.program, family.before_cut).value != after
    fewer = observe(family.program, _one_fewer(family.after_cut)).value != after
    findings.must("never closing is wrong after the closes", never, name)
    findings.must("one close too few is wrong after the closes", fewer, name)
    too_few = TRACKING_RULES["one close too few"](marks_of(family.program, family.after_cut))
    findings.must("one close too few is wrong after the closes", too_few != after, name)
    kind = "inner" if _binds_itself(events[: family.after_cut.event_count], family.variable) else "outer"
    findings.must("lookup kinds are what the programs say", kind == family.lookup_kind, name)


def _one_fewer(cut: CutPoint) -> CutPoint:
    return CutPoint(cut.event_count - 1, cut.probe_id, cut.variable)


def _decoys(events: Sequence[Event], variable: str) -> list[int]:
    """The values of ``variable`` bound in blocks that are closed again within ``events``."""
    scopes: list[list[int]] = [[]]
    decoys: list[int] = []
    for event in events:
        if isinstance(event, Open):
            scopes.append([])
        elif isinstance(event, Close):
            decoys += scopes.pop()
        elif isinstance(event, Let) and event.variable == variable:
            scopes[-1].append(event.value)
    return decoys


def _binds_itself(events: Sequence[Event], variable: str) -> bool:
    """Whether the innermost open scope binds ``variable``."""
    bound = [False]
    for event in events:
        if isinstance(event, Open):
            bound.append(False)
        elif isinstance(event, Close):
            bound.pop()
        elif isinstance(event, Let) and event.variable == variable:
            bound[-1] = True
    return bound[-1]


def _check_round_trip(family: Family, specs: Iterable[RenderSpec], findings: Findings) -> None:
    for spec in specs:
        try:
            holds = parse_program(render_program(family.program, spec), spec) == family.program
        except ParseError:
            holds = False
        findings.must("programs survive writing and reading", holds, f"{family.family_id} {spec.notation.name}")
