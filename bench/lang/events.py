"""A program as a flat list of events: the types, shared by renderer, parser and event oracle.

Types only: the walk over a tree is in `bench.lang.walk`, so that the event oracle cannot reach it.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.lang.ast import Kind, Let, Nop


@dataclass(frozen=True, slots=True)
class Open:
    """A block begins."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class Close:
    """The innermost open block ends."""


Event = Open | Close | Let | Nop


@dataclass(frozen=True, slots=True)
class Probe:
    """The observation marker at the end of a prefix."""

    probe_id: str
    variable: str


@dataclass(frozen=True, slots=True)
class ParsedPrefix:
    """What a parser read: the events in order, then the one probe."""

    events: tuple[Event, ...]
    probe: Probe
