"""A family as cases: one for each task, view and lexical regime. The base program is never changed.

Which nonce set and which example set a family uses is decided here; notations are not (they are the trials of a case).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.data.aliases import aliases_of
from bench.data.java_random import JavaRandom
from bench.data.seeds import Purpose, child_seed, namespace
from bench.data.structure import lookup_kind_at
from bench.data.terms import WRITING_TASK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.data.family import Family
    from bench.data.terms import Lexical, Task, View
    from bench.lang.ast import CutPoint

SETS = 8
"""Nonce lexicons, and example sets of each bank."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question about a family. It has no answer: see `bench.data.gold`. Whole programs have no ``cut``.

    ``aliases`` are the wrong names of the manipulation check, by block name; None where it is not planned.
    """

    case_id: str
    family_id: str
    task: Task
    view: View
    lexical: Lexical
    lexicon_set: int | None
    example_set: int
    cut: CutPoint | None
    aliases: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class SetChoice:
    """The nonce lexicon and the example set that one family uses."""

    lexicon_set: int
    example_set: int


def set_choices(master_seed: int, preset: str, cell: str, families: int) -> list[SetChoice]:
    """The sets of the families of one cell (``reading/8-32``), by seed index.

    Each kind of set has one seeded permutation of 0 to 7; the inner families take its entries in order, the outer ones
    continue where the inner ones stopped, modulo 8. So both are balanced, and neither is tied to the lookup kind.
    """
    lexicons, examples = (_permutation(master_seed, preset, purpose, cell) for purpose in _SET_PURPOSES)
    order = sorted(range(families), key=lambda index: (lookup_kind_at(index) == "outer", index))
    turns = {index: turn for turn, index in enumerate(order)}
    return [SetChoice(lexicons[turns[index] % SETS], examples[turns[index] % SETS]) for index in range(families)]


_SET_PURPOSES = (Purpose.LEXICON, Purpose.EXAMPLE)


def _permutation(master_seed: int, preset: str, purpose: Purpose, cell: str) -> list[int]:
    numbers = list(range(SETS))
    JavaRandom(child_seed(master_seed, namespace(preset, purpose, cell), 0)).shuffle(numbers)
    return numbers


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of every family: tasks, views of the reading tasks and regimes, each in the order of the cases.

    ``misnamed``: every case also keeps wrong names for its blocks.
    """

    tasks: Sequence[Task]
    views: Sequence[View]
    regimes: Sequence[Lexical]
    misnamed: bool = False


def expand_family(family: Family, choice: SetChoice, questions: Questions) -> list[Case]:
    """The cases of ``family``, by task, regime and view."""
    aliases = aliases_of(family) if questions.misnamed else None
    return [
        _case(family, choice, (task, regime, view), aliases)
        for task in questions.tasks
        for regime in questions.regimes
        for view in (("program",) if task == WRITING_TASK else questions.views)
    ]


def _case(
    family: Family, choice: SetChoice, what: tuple[Task, Lexical, View], aliases: Mapping[str, str] | None
) -> Case:
    task, lexical, view = what
    lexicon_set = choice.lexicon_set if lexical == "nonce" else None
    regime = lexical if lexicon_set is None else f"{lexical}{lexicon_set}"
    return Case(
        case_id=f"{family.family_id}/{task}/{view}/{regime}",
        family_id=family.family_id,
        task=task,
        view=view,
        lexical=lexical,
        lexicon_set=lexicon_set,
        example_set=choice.example_set,
        cut=cut_of(family, view),
        aliases=aliases,
    )


def cut_of(family: Family, view: View) -> CutPoint | None:
    """Where ``view`` cuts the family's program; None for whole programs."""
    match view:
        case "before_close":
            return family.before_cut
        case "after_close":
            return family.after_cut
        case "program":
            return None
