"""The scope language as values: programs, cuts and what is seen at a cut.

Data only. Nothing here walks a tree: the two oracles must not share code.

Glossary (one word per concept, everywhere in this project):

family
    One base program with its seeds, cuts and probed variable.
case
    Family x task x view x lexical regime. One gold row each.
notation
    One of the five ways to write a program (``syntax`` in files): braces, generic_end, typed_end, named_end,
    padded_end.
view
    Where a prefix is cut: ``before_close`` or ``after_close`` a run of closes; ``program`` for whole programs.
regime
    The words a program is written in (``lexical`` in files): ``natural`` or ``nonce``.
trial
    Case x notation x replicate. One pytest item each.
block
    The five notations of one case and replicate; they run next to each other.
cell
    Depth x filler.
event
    Open, Close, Let or Nop in depth-first order; a cut is a number of events.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The three kinds of block; every kind only opens a local scope."""

    UNIT = "unit"
    FUNC = "func"
    AREA = "area"


@dataclass(frozen=True, slots=True)
class Let:
    """Binds ``variable`` to ``value`` (1000 to 9999) in the scope it stands in."""

    variable: str
    value: int


@dataclass(frozen=True, slots=True)
class Nop:
    """Has no effect; ``payload`` is only there to be read over."""

    payload: str


@dataclass(frozen=True, slots=True)
class Scope:
    """A block: opens a local scope, runs ``body`` once from top to bottom, closes it."""

    kind: Kind
    name: str
    body: tuple[Stmt, ...]


Stmt = Let | Nop | Scope


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program; its statements stand in the global scope, which has no name."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class CutPoint:
    """Just after the first ``event_count`` events; there the probe asks for ``variable``."""

    event_count: int
    probe_id: str
    variable: str


@dataclass(frozen=True, slots=True)
class Observation:
    """What holds at a cut: the visible ``value`` and the names of the open blocks, outermost first."""

    value: int
    active_scopes: tuple[str, ...]
