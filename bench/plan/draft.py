"""What a preset asks, before anything is written: its families and their cases, in the order of the files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.data.dataset import Cells, draw_families
from bench.data.expand import Case, Questions, SetChoice, expand_family, set_choices
from bench.data.generate import GenerationError
from bench.data.hand_made import HandMadeError, hand_made_family
from bench.data.terms import CHECK_SYNTAX, WRITING_TASK
from bench.data.uniform import with_one_kind
from bench.lang.ast import Kind
from bench.plan.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.data.family import Family, TaskGroup
    from bench.data.terms import Task
    from bench.plan.config import Grid, HandMadeCase, Phase, PresetConfig


@dataclass(frozen=True, slots=True)
class Draft:
    """All families of a plan, all cases with the family each is about, and the hand-made texts by family."""

    families: list[Family]
    cases: list[tuple[Case, Family]]
    by_hand: dict[str, HandMadeCase]


def draft_plan(config: PresetConfig, phase: Phase) -> Draft:
    """The families and cases of ``config``.

    Raises:
        ConfigError: if the phase has no task, a hand-made program cannot be read, or the structures run out.
    """
    tasks = config.tasks_of(phase)
    if not tasks:
        raise ConfigError(f"key tasks: phase {phase} plans scope_lookup only, which preset {config.name} does not list")
    try:
        groups = [_hand_made(config, tasks)] if config.hand_made is not None else list(_generated(config, tasks))
    except (GenerationError, HandMadeError) as error:
        raise ConfigError(str(error)) from None
    return Draft(
        families=[family for draft in groups for family in draft.families],
        cases=[case for draft in groups for case in draft.cases],
        by_hand=dict(zip((family.family_id for family in groups[0].families), config.hand_made or [], strict=False)),
    )


def _hand_made(config: PresetConfig, tasks: list[Task]) -> Draft:
    made = config.hand_made or []
    seed = int(config.master_seed)
    families = [hand_made_family(config.name, index, case.program, seed) for index, case in enumerate(made)]
    choices = set_choices(seed, config.name, "hand-made", len(families))
    return _expanded(config, tasks, list(zip(families, choices, strict=True)))


def _generated(config: PresetConfig, tasks: list[Task]) -> Iterator[Draft]:
    reading = [task for task in tasks if task != WRITING_TASK]
    writing = [task for task in tasks if task == WRITING_TASK]
    if config.reading is not None and reading:
        yield _expanded(config, reading, _drawn(config, "reading", config.reading))
    if config.writing is not None and writing:
        yield _expanded(config, writing, _drawn(config, "writing", config.writing))


def _drawn(config: PresetConfig, group: TaskGroup, grid: Grid) -> list[tuple[Family, SetChoice]]:
    cells = Cells(config.family_space, group, grid.depths, grid.fillers, grid.seeds_per_cell)
    drawn = draw_families(cells, int(config.master_seed))
    if config.kinds is None:
        return list(drawn)
    return [(with_one_kind(family, Kind(config.kinds)), choice) for family, choice in drawn]


def _expanded(config: PresetConfig, tasks: list[Task], families: list[tuple[Family, SetChoice]]) -> Draft:
    questions = Questions(tasks, config.views, config.lexical, misnamed=CHECK_SYNTAX in config.syntaxes)
    return Draft(
        families=[family for family, _ in families],
        cases=[(case, family) for family, choice in families for case in expand_family(family, choice, questions)],
        by_hand={},
    )
