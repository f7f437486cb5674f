"""Builders of result rows for the statistics tests: a family is given by its scores, everything else is filled in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.plan.records import ScheduleRow
from bench.score.outcome import Outcome
from bench.score.table import ResultRow
from bench.stats.paired import PairedSample, Stratum

if TYPE_CHECKING:
    from collections.abc import Sequence

SYNTAX = {"A": "braces", "B": "generic_end", "C": "typed_end", "D": "named_end", "E": "padded_end"}


def trial(
    syntax: str,
    strict: int | None,
    *,
    family: str = "f0",
    seed_index: int = 0,
    cell: tuple[int, int] = (2, 0),
    lexical: str = "natural",
    replicate: int = 0,
    position: int = 0,
    task: str = "scope_lookup",
    view: str = "after_close",
    **changes: object,
) -> ResultRow:
    """One trial; ``strict`` None is a trial that was never sent."""
    name = SYNTAX.get(syntax, syntax)
    depth, filler = cell
    schedule = ScheduleRow(
        position=position,
        block=position // 5,
        trial_id=f"{task}/{view}/{family}/{lexical}/{name}/{replicate}",
        case_id=f"{family}/{task}/{view}/{lexical}",
        family_id=family,
        task=task,
        view=view,
        syntax=name,
        lexical=lexical,
        lexicon_set=None if lexical == "natural" else 0,
        example_set=seed_index % 8,
        depth=depth,
        filler=filler,
        seed_index=seed_index,
        lookup_kind="inner" if seed_index % 2 == 0 else "outer",
        replicate=replicate,
        request_sha256="0" * 64,
    )
    outcome = {None: Outcome.NOT_DISPATCHED, 0: Outcome.WRONG_ANSWER, 1: Outcome.CORRECT}[strict]
    known = strict is not None
    row = ResultRow(schedule, outcome, strict, lenient=strict, dispatched=known, terminal=known, attempts=int(known))
    return replace(row, **changes)


def family(
    name: str,
    minus: Sequence[int | None],
    plus: Sequence[int | None],
    *,
    seed_index: int = 0,
    cell: tuple[int, int] = (2, 0),
    notations: str = "BD",
) -> list[ResultRow]:
    """One family; ``minus`` and ``plus`` hold the score in natural and, if given, in nonce words."""
    regimes = ("natural", "nonce")[: len(minus)]
    return [
        trial(syntax, score, family=name, seed_index=seed_index, cell=cell, lexical=lexical)
        for lexical, first, second in zip(regimes, minus, plus, strict=True)
        for syntax, score in ((notations[0], first), (notations[1], second))
    ]


def differences(*cells: Sequence[int], first: int = 0) -> list[ResultRow]:
    """Families whose difference is given in halves (-2 to 2), one sequence per cell; cells are (2, 0), (2, 1), …"""
    pairs = {-2: ((1, 1), (0, 0)), -1: ((1, 0), (0, 0)), 0: ((0, 1), (0, 1)), 1: ((0, 1), (1, 1)), 2: ((0, 0), (1, 1))}
    return [
        row
        for filler, halves in enumerate(cells)
        for index, half in enumerate(halves)
        for row in family(f"c{filler}f{index + first}", *pairs[half], seed_index=index + first, cell=(2, filler))
    ]


def sample(*cells: Sequence[int], unit: int = 2) -> PairedSample:
    """A paired sample whose cells hold the given differences in units of 1/``unit``."""
    strata = [
        Stratum(2, i, tuple(f"f{i}-{j}" for j in range(len(units))), tuple(units), len(units))
        for i, units in enumerate(cells)
    ]
    return PairedSample(tuple(strata), unit)
