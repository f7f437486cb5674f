"""A family: one base program with its cuts, its probed variable and the seeds it was drawn with.

The type and its JSON form only; drawing is in `generate`, what is asked about a family is in `expand`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bench.lang.ast import CutPoint
from bench.lang.tree import program_from_json, program_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.data.structure import LookupKind
    from bench.lang.ast import Program

TaskGroup = Literal["reading", "writing"]
"""Tasks that read a prefix (T1, T2) and the task that writes a whole program (T3) have families of their own."""


@dataclass(frozen=True, slots=True)
class Family:
    """One base program. ``siblings`` are the numbers of the path scopes that hold closed siblings (0 is global)."""

    family_id: str
    group: TaskGroup
    depth: int
    filler: int
    seed_index: int
    lookup_kind: LookupKind
    program: Program
    before_cut: CutPoint
    after_cut: CutPoint
    siblings: tuple[int, ...]
    skeleton: str
    attempt: int
    seeds: Mapping[str, int]

    @property
    def variable(self) -> str:
        """The probed variable."""
        return self.after_cut.variable

    @property
    def closures(self) -> int:
        """How many closes stand between the two cuts."""
        return self.after_cut.event_count - self.before_cut.event_count


def family_to_json(family: Family) -> dict[str, object]:
    """A row of ``families.jsonl``; seeds are decimal strings, for they exceed 2^53."""
    return {
        "family_id": family.family_id,
        "group": family.group,
        "depth": family.depth,
        "filler": family.filler,
        "seed_index": family.seed_index,
        "lookup_kind": family.lookup_kind,
        "closures": family.closures,
        "variable": family.variable,
        "probe_id": family.after_cut.probe_id,
        "before_cut": family.before_cut.event_count,
        "after_cut": family.after_cut.event_count,
        "siblings": list(family.siblings),
        "skeleton": family.skeleton,
        "attempt": family.attempt,
        "seeds": {purpose: str(seed) for purpose, seed in family.seeds.items()},
        "program": program_to_json(family.program),
    }


def family_from_json(row: Mapping[str, Any]) -> Family:
    """The family of a row that `family_to_json` made; KeyError, TypeError or ValueError on any other value."""
    cuts = [CutPoint(int(row[key]), row["probe_id"], row["variable"]) for key in ("before_cut", "after_cut")]
    return Family(
        family_id=row["family_id"],
        group=row["group"],
        depth=int(row["depth"]),
        filler=int(row["filler"]),
        seed_index=int(row["seed_index"]),
        lookup_kind=row["lookup_kind"],
        program=program_from_json(row["program"]),
        before_cut=cuts[0],
        after_cut=cuts[1],
        siblings=tuple(row["siblings"]),
        skeleton=row["skeleton"],
        attempt=int(row["attempt"]),
        seeds={purpose: int(seed) for purpose, seed in row["seeds"].items()},
    )
