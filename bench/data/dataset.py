"""All families of one preset and task group, in the order of the files: by depth, filler and seed index.

Knows grids as numbers; what a preset file may hold is in `bench.plan.config`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.data.expand import SetChoice, set_choices
from bench.data.generate import Generator, Slot
from bench.data.structure import class_of_preset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.data.family import Family, TaskGroup


@dataclass(frozen=True, slots=True)
class Cells:
    """The grid of one task group of a preset."""

    preset: str
    group: TaskGroup
    depths: Sequence[int]
    fillers: Sequence[int]
    seeds_per_cell: int


def draw_families(cells: Cells, master_seed: int) -> Iterator[tuple[Family, SetChoice]]:
    """Each family with the sets it uses; GenerationError if the structures run out."""
    generator = Generator(master_seed, class_of_preset(cells.preset))
    for depth in cells.depths:
        for filler in cells.fillers:
            cell = f"{cells.group}/{depth}-{filler}"
            choices = set_choices(master_seed, cells.preset, cell, cells.seeds_per_cell)
            for index, choice in enumerate(choices):
                yield generator.family(_slot(cells, depth, filler, index)), choice


def _slot(cells: Cells, depth: int, filler: int, index: int) -> Slot:
    return Slot(
        family_id=f"{cells.preset}-{cells.group}-d{depth}-f{filler}-s{index:02d}",
        group=cells.group,
        seed_space=cells.preset,
        seed_name=f"{cells.group}/{depth}-{filler}-{index}",
        depth=depth,
        filler=filler,
        seed_index=index,
    )
