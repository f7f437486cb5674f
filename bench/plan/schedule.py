"""In which order trials are sent: blocks shuffled, notations inside a block by a Latin square (section 7.5).

Order only: no prompt is built and no id is made here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.data.java_random import JavaRandom
from bench.data.seeds import Purpose, child_seed, namespace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.data.expand import Case
    from bench.data.family import Family
    from bench.data.terms import Syntax, Task


@dataclass(frozen=True, slots=True)
class Block:
    """The notations of one case and replicate, in the order they are sent."""

    case: Case
    family: Family
    replicate: int
    order: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Orders the blocks of one preset; the same seed gives the same order."""

    preset: str
    master_seed: int
    syntaxes: Sequence[Syntax]
    replicates: int

    def blocks(self, cases: Iterable[tuple[Case, Family]]) -> list[Block]:
        """All blocks in the order they are sent.

        Cases must come by seed index, regime and view within a task and cell, for in that order blocks take the rows
        of their cell's square, cyclically.
        """
        squares: dict[tuple[Task, int, int], list[tuple[Syntax, ...]]] = {}
        turns: dict[tuple[Task, int, int], int] = {}
        blocks: list[Block] = []
        for case, family in cases:
            cell = (case.task, family.depth, family.filler)
            square = squares.setdefault(cell, self._square(cell))
            for replicate in range(self.replicates):
                turn = turns.get(cell, 0)
                turns[cell] = turn + 1
                blocks.append(Block(case, family, replicate, square[turn % len(square)]))
        self._random("blocks").shuffle(blocks)
        return blocks

    def _square(self, cell: tuple[Task, int, int]) -> list[tuple[Syntax, ...]]:
        task, depth, filler = cell
        return latin_square(self.syntaxes, self._random(f"{task}/{depth}-{filler}"))

    def _random(self, part: str) -> JavaRandom:
        return JavaRandom(child_seed(self.master_seed, namespace(self.preset, Purpose.SCHEDULE, part), 0))


def latin_square(syntaxes: Sequence[Syntax], random: JavaRandom) -> list[tuple[Syntax, ...]]:
    """A random square, each notation once in every row and column: a cyclic one, rows, columns, symbols shuffled."""
    size = len(syntaxes)
    rows, columns, symbols = list(range(size)), list(range(size)), list(syntaxes)
    for items in (rows, columns):
        random.shuffle(items)
    random.shuffle(symbols)
    return [tuple(symbols[(row + column) % size] for column in columns) for row in rows]
