"""Draws families: a structure of the wanted class that nobody has yet, then names, values and nops for it.

Nothing here knows notations, lexicons, prompts or answers. The order of draws is in ``docs/run-format.md``; whoever
changes it raises `GENERATOR_VERSION`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.data.family import Family
from bench.data.java_random import JavaRandom
from bench.data.seeds import Purpose, child_seed, namespace
from bench.data.structure import draw_structure, lookup_kind_at, skeleton_class
from bench.lang.ast import CutPoint, Kind, Let, Nop, Program, Scope
from bench.lang.names import MAX_VALUE, MIN_VALUE, VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.data.family import TaskGroup
    from bench.data.structure import Structure
    from bench.lang.ast import Stmt

GENERATOR_VERSION = "1"
MAX_ATTEMPTS = 10_000

_KINDS = tuple(Kind)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class GenerationError(Exception):
    """No structure of the wanted class was free: the grid asks for more families than there are structures."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one family in a data set: where its seeds come from and what it must be.

    ``seed_space`` and ``seed_name`` are the first and the last parts of the seeds' namespaces
    (``pilot`` … ``reading/8-32-3``).
    """

    family_id: str
    group: TaskGroup
    seed_space: str
    seed_name: str
    depth: int
    filler: int
    seed_index: int


@dataclass(slots=True)
class Generator:
    """Draws families for one task group of one preset; ``taken`` are the skeletons given away so far."""

    master_seed: int
    wanted_class: int
    taken: set[str] = field(default_factory=set)

    def family(self, slot: Slot) -> Family:
        """The family of ``slot``.

        Raises:
            GenerationError: after 10,000 draws of a wrong class or of a structure that is taken.
        """
        kind = lookup_kind_at(slot.seed_index)
        for attempt in range(MAX_ATTEMPTS):
            randoms = self._randoms(slot, attempt)
            structure = draw_structure(slot.depth, kind, randoms[Purpose.STRUCTURE])
            if self._is_free(structure.skeleton):
                self.taken.add(structure.skeleton)
                return _filled(slot, attempt, structure, self._seeds(slot, attempt), randoms)
        raise GenerationError(
            f"{slot.family_id}: no free {kind} structure of class {self.wanted_class} at depth {slot.depth} in "
            f"{MAX_ATTEMPTS} draws; ask for fewer seeds per cell or fewer cells of this depth"
        )

    def _is_free(self, skeleton: str) -> bool:
        return skeleton not in self.taken and skeleton_class(skeleton) == self.wanted_class

    def _seeds(self, slot: Slot, attempt: int) -> dict[Purpose, int]:
        return {
            purpose: child_seed(self.master_seed, namespace(slot.seed_space, purpose, slot.seed_name), attempt)
            for purpose in (Purpose.STRUCTURE, Purpose.IDENTIFIER, Purpose.VALUE, Purpose.FILLER)
        }

    def _randoms(self, slot: Slot, attempt: int) -> dict[Purpose, JavaRandom]:
        return {purpose: JavaRandom(seed) for purpose, seed in self._seeds(slot, attempt).items()}


def draw_values(count: int, random: JavaRandom) -> list[int]:
    """``count`` distinct integers from 1000 to 9999; a repeated draw is drawn again."""
    values: dict[int, None] = {}
    while len(values) < count:
        values[MIN_VALUE + random.next_int(MAX_VALUE - MIN_VALUE + 1)] = None
    return list(values)


def draw_names(prefix: str, count: int, random: JavaRandom, *, without: Sequence[str] = ()) -> list[str]:
    """``count`` distinct names, none of ``without``: ``prefix`` and eight letters; a repeated draw is drawn again."""
    names: dict[str, None] = {}
    while len(names) < count:
        name = prefix + "".join(_LETTERS[random.next_int(26)] for _ in range(8))
        if name not in without:
            names[name] = None
    return list(names)


@dataclass(frozen=True, slots=True)
class _Words:
    """What the events of a structure are filled with, each in event order."""

    kinds: Iterator[Kind]
    names: Iterator[str]
    variable: str
    others: Iterator[str]
    values: Iterator[int]
    nops: list[Stmt]


def _filled(
    slot: Slot, attempt: int, structure: Structure, seeds: dict[Purpose, int], randoms: dict[Purpose, JavaRandom]
) -> Family:
    """The family of a structure: kinds, identifiers, values and nops, each from its own generator."""
    words, probe_id = _draw_words(structure, slot.filler, randoms)
    before = len(structure.skeleton) - structure.closures + slot.filler
    return Family(
        family_id=slot.family_id,
        group=slot.group,
        depth=slot.depth,
        filler=slot.filler,
        seed_index=slot.seed_index,
        lookup_kind=structure.lookup_kind,
        program=_program(structure, words),
        before_cut=CutPoint(before, probe_id, words.variable),
        after_cut=CutPoint(before + structure.closures, probe_id, words.variable),
        siblings=structure.siblings,
        skeleton=structure.skeleton,
        attempt=attempt,
        seeds={purpose.value: seed for purpose, seed in seeds.items()},
    )


def _draw_words(structure: Structure, filler: int, randoms: dict[Purpose, JavaRandom]) -> tuple[_Words, str]:
    opens, lets = structure.events.count("("), structure.events.count("v") + structure.events.count("o")
    kinds = [_KINDS[randoms[Purpose.STRUCTURE].next_int(len(_KINDS))] for _ in range(opens)]
    identifier = randoms[Purpose.IDENTIFIER]
    variable = VARIABLES[identifier.next_int(len(VARIABLES))]
    rest = [name for name in VARIABLES if name != variable]
    others = [rest[identifier.next_int(len(rest))] for _ in range(structure.events.count("o"))]
    names = draw_names("n_", opens, identifier)
    (probe_id,) = draw_names("q_", 1, identifier)
    values = draw_values(lets, randoms[Purpose.VALUE])
    nops: list[Stmt] = [Nop(name) for name in draw_names("p_", filler, randoms[Purpose.FILLER])]
    return _Words(iter(kinds), iter(names), variable, iter(others), iter(values), nops), probe_id


def _program(structure: Structure, words: _Words) -> Program:
    """The tree of the structure's event string; the nops stand before the first focus close."""
    bodies: list[list[Stmt]] = [[]]
    blocks: list[tuple[Kind, str]] = []
    focus = len(structure.skeleton) - structure.closures
    for position, mark in enumerate(structure.events):
        if position == focus:
            bodies[-1].extend(words.nops)
        if mark == "(":
            blocks.append((next(words.kinds), next(words.names)))
            bodies.append([])
        elif mark == ")":
            (kind, name), body = blocks.pop(), bodies.pop()
            bodies[-1].append(Scope(kind, name, tuple(body)))
        else:
            variable = words.variable if mark == "v" else next(words.others)
            bodies[-1].append(Let(variable, next(words.values)))
    return Program(tuple(bodies[0]))
