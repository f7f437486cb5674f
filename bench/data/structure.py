"""The structure of a family, drawn as its skeleton: which events, in which order, without words, values and nops.

A skeleton is the event string of the prefix that ends after the focus closes: ``(`` opens, ``)`` closes, ``v`` binds
the probed variable, ``o`` binds another one. It holds the whole structure, for what follows the cut is the remaining
closes. No names and no values are drawn here.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bench.data.java_random import JavaRandom

LookupKind = Literal["inner", "outer"]

SKELETON_CLASSES = 4
EXAMPLE_CLASS, PILOT_CLASS, OTHER_CLASS, MAIN_CLASS = range(SKELETON_CLASSES)


@dataclass(frozen=True, slots=True)
class Structure:
    """One drawn skeleton. ``siblings`` are the numbers of the path scopes that hold the two closed siblings."""

    depth: int
    closures: int
    lookup_kind: LookupKind
    skeleton: str
    siblings: tuple[int, ...]

    @property
    def events(self) -> str:
        """The whole program as an event string: the skeleton and the closes that end it."""
        return self.skeleton + ")" * (self.depth - self.closures)


def closures_at(depth: int) -> int:
    """The number of focus closes at a peak depth: max(1, min(d-1, ceil(d/2)))."""
    return max(1, min(depth - 1, -(-depth // 2)))


def lookup_kind_at(index: int) -> LookupKind:
    """Even seed indices ask for the innermost open scope's own binding, odd ones for one further out."""
    return "outer" if index % 2 else "inner"


def skeleton_class(skeleton: str) -> int:
    """0 example banks, 1 pilot, 2 any other grid, 3 main: first byte of SHA-256 modulo 4."""
    return hashlib.sha256(skeleton.encode("ascii")).digest()[0] % SKELETON_CLASSES


def class_of_preset(name: str) -> int:
    """The skeleton class that the families of a preset must have."""
    return {"pilot": PILOT_CLASS, "main": MAIN_CLASS}.get(name, OTHER_CLASS)


def draw_structure(depth: int, lookup_kind: LookupKind, random: JavaRandom) -> Structure:
    """A random structure of peak depth ``depth`` (at least 2). The order of draws is in ``docs/run-format.md``."""
    closures = closures_at(depth)
    innermost = depth - closures
    binder = innermost if lookup_kind == "inner" else random.next_int(innermost)
    binding = _binding_scopes(depth, innermost, binder, random)
    own = [_lets(binds=scope in binding, random=random) for scope in range(depth + 1)]
    siblings = tuple(_place_sibling(own[:depth], random) for _ in range(2))
    skeleton = "(".join("".join(statements) for statements in own) + ")" * closures
    return Structure(depth, closures, lookup_kind, skeleton, siblings)


def _binding_scopes(depth: int, innermost: int, binder: int, random: JavaRandom) -> set[int]:
    """The numbers of the path scopes that bind the probed variable; scope 0 is the global one."""
    always = {0, binder, innermost + 1, depth}
    never = range(binder + 1, innermost + 1)
    drawn = {
        scope for scope in range(depth + 1) if scope not in always and scope not in never and random.next_int(2) == 0
    }
    return always | drawn


def _lets(*, binds: bool, random: JavaRandom) -> list[str]:
    """The lets of one scope: of the probed variable if it ``binds`` it, and of another one half of the time."""
    if random.next_int(2) != 0:
        return ["v"] if binds else []
    if not binds:
        return ["o"]
    return ["v", "o"] if random.next_int(2) == 0 else ["o", "v"]


def _place_sibling(own: list[list[str]], random: JavaRandom) -> int:
    """Insert one closed sibling with a decoy anywhere among one scope's statements; returns that scope's number."""
    host = random.next_int(len(own))
    decoys = _lets(binds=True, random=random)
    place = random.next_int(len(own[host]) + 1)
    own[host].insert(place, f"({''.join(decoys)})")
    return host
