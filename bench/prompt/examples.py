"""The example banks: for each task 8 sets of 8 solved examples, the same for every preset.

Example families have a seed namespace and a skeleton class of their own, so no test ever shares a structure with one.
Their answers are the oracle's and are part of the prompt; answers to test cases are out of reach here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from bench.data.expand import SETS
from bench.data.generate import Generator, Slot
from bench.data.java_random import JavaRandom
from bench.data.seeds import Purpose, child_seed, namespace
from bench.data.structure import EXAMPLE_CLASS
from bench.data.terms import WRITING_TASK

if TYPE_CHECKING:
    from bench.data.family import Family
    from bench.data.terms import Task, View

BANK_SEED = 20261005
EXAMPLES_PER_SET = 8


@cache
def shown_examples(task: Task, example_set: int, count: int) -> tuple[Example, ...]:
    """The ``count`` examples (0, 2, 8 or 16) that a prompt of that set shows, so that fewer are always among more.

    Two: the set's first of each view (of the writing task, its first two), in the set's order. Sixteen: the set's own
    and then those of the next set, the first again after the last.
    """
    bank = example_bank(task)
    own = bank[example_set]
    if count <= EXAMPLES_PER_SET:
        if count == TWO and task != WRITING_TASK:
            firsts = {next(n for n, example in enumerate(own) if example.view == view) for view in (_BEFORE, _AFTER)}
            return tuple(own[number] for number in sorted(firsts))
        return own[:count]
    return (own + bank[(example_set + 1) % SETS])[:count]


TWO = 2  # the smallest number that shows both views

_BEFORE: View = "before_close"
_AFTER: View = "after_close"
_WHOLE: View = "program"


@dataclass(frozen=True, slots=True)
class Example:
    """One example: a family and where its program is cut."""

    family: Family
    view: View


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the examples of one set are to be, slot by slot."""

    depths: tuple[int, ...]
    fillers: tuple[int, ...]
    views: tuple[View, ...]


@cache
def example_bank(task: Task) -> tuple[tuple[Example, ...], ...]:
    """The 8 sets of a task, drawn in order: set by set, slot by slot; skeletons are unique inside the bank."""
    generator = Generator(BANK_SEED, EXAMPLE_CLASS)
    return tuple(_example_set(task, number, generator) for number in range(SETS))


def _example_set(task: Task, number: int, generator: Generator) -> tuple[Example, ...]:
    plan = _plan(task, number)
    return tuple(
        Example(generator.family(_slot(task, number, position, plan)), plan.views[position])
        for position in range(EXAMPLES_PER_SET)
    )


def _plan(task: Task, number: int) -> _Plan:
    """Depths 2 to 4 and fillers 0 to 8, drawn in pairs; then the order of four views of each kind."""
    name = namespace(_space(task), Purpose.EXAMPLE, str(number))
    random = JavaRandom(child_seed(BANK_SEED, name, 0))
    sizes = [(2 + random.next_int(3), random.next_int(9)) for _ in range(EXAMPLES_PER_SET)]
    views = [_BEFORE] * 4 + [_AFTER] * 4
    random.shuffle(views)
    if task == WRITING_TASK:
        views = [_WHOLE] * EXAMPLES_PER_SET
    return _Plan(tuple(depth for depth, _ in sizes), tuple(filler for _, filler in sizes), tuple(views))


def _slot(task: Task, number: int, position: int, plan: _Plan) -> Slot:
    return Slot(
        family_id=f"examples-{task}-{number}-{position}",
        group="writing" if task == WRITING_TASK else "reading",
        seed_space=_space(task),
        seed_name=f"{number}-{position}",
        depth=plan.depths[position],
        filler=plan.fillers[position],
        seed_index=position,
    )


def _space(task: Task) -> str:
    return f"examples/{task}"
