"""Sections 7 and 8: the exploratory contrasts, and reading beside writing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bench.plan.records import TASKS
from bench.report.document import Block, Code, Column, Figure, Heading, Line, Table, say
from bench.report.formatting import p_value, points, points_range
from bench.report.notations import TASK_QUESTIONS, TASK_TITLES, VIEW_TITLES, labelled, lettered_contrast, titled
from bench.report.section_primary import WITH_INTERVALS, detectable
from bench.stats.contrast import CHECKS, PRIMARY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.report.run_data import RunData
    from bench.score.table import ResultRow
    from bench.stats.contrast_result import ContrastResult

READINGS_TOLD = (
    "The word is the reading of the program that gives the number answered, the first that fits: one_too_few, one "
    "block fewer taken as closed than are; deepest_closed, the innermost block that has closed; one_too_many, one "
    "block more taken as closed; decoy, a value of an earlier sibling; other_closed, another block that has closed; "
    "outer_binding, an open block further out; other_variable, a value of another variable; not_in_program, none of "
    "these."
)


def exploratory_blocks(data: RunData) -> list[Block]:
    """The blocks of section 7."""
    task, view = data.main_place
    rows = [
        row for row in data.analysis.contrasts if (row.task, row.view) == (task, view) and row.contrast != PRIMARY.name
    ]
    return [
        say(
            "These comparisons were not planned as tests of their own: they are exploratory and suggest what to "
            "test next. Holm's adjustment runs over the seven of them; an undefined p counts as 1. D − E asks what the "
            "content of an end adds to its length, D − C what the name adds to the kind, C − B what the kind adds. "
            "The figure of section 4 shows all of them."
        ),
        *_check_note(rows),
        contrast_table(f"Exploratory contrasts: {titled(task, view)}", rows),
    ]


def _check_note(rows: Sequence[ContrastResult]) -> list[Block]:
    """What the manipulation check adds, where it was planned."""
    if not any(row.contrast in {check.name for check in CHECKS} for row in rows):
        return []
    return [
        say(
            "F is the manipulation check: named ends whose name is well-formed and wrong. F − D asks whether a wrong "
            "name costs anything, F − B whether it still helps. Holm's adjustment runs over these two by themselves; "
            "section 10 says what they can and cannot tell."
        )
    ]


def contrast_table(caption: str, rows: Sequence[ContrastResult]) -> Table:
    """Contrasts, one a row; the smallest detectable difference stands beside every interval that contains 0."""
    columns = (
        Column("contrast", numeric=False),
        Column("difference, pp"),
        Column("95 % interval, pp"),
        Column("sign-flip p"),
        Column("Holm p"),
        Column("detectable, pp"),
        Column("families"),
        Column("verdict", numeric=False),
        Column("flags", numeric=False),
    )
    cells = tuple(
        (
            lettered_contrast(row.contrast),
            points(row.estimate_pp),
            points_range(row.ci95),
            p_value(row.signflip_p),
            "–" if row.holm_p is None else p_value(row.holm_p),
            detectable(row),
            f"{row.families} / {row.families_planned}",
            row.verdict,
            ", ".join(flag for flag in row.flags if flag != "exploratory") or "–",
        )
        for row in rows
    )
    return Table(caption, columns, cells)


def reading_and_writing_blocks(data: RunData) -> list[Block]:
    """The blocks of section 8."""
    blocks: list[Block] = [
        say(
            "Reading (T1, T2) and writing (T3) are different questions: an end that is already there can be a cue, an "
            "end that has to be produced is also work. T3 uses shorter programs, so its accuracies are not comparable "
            "in level with those of T1 and T2; only differences between notations within a task are. All of this is "
            "exploratory except the primary comparison."
        ),
        _d_minus_b(data),
    ]
    planned = {task for task, _ in data.places}
    for task in TASKS:
        blocks.append(Heading(3, TASK_TITLES[task]))
        if task not in planned:
            blocks.append(say("Not run: this plan does not contain the task."))
            continue
        blocks.append(say(TASK_QUESTIONS[task]))
        for place in data.places:
            if place[0] == task:
                blocks += _task_part(data, place)
    return blocks


def _d_minus_b(data: RunData) -> Table:
    results: dict[tuple[str, str], ContrastResult] = {
        (row.task, row.view): row for row in data.analysis.contrasts if row.contrast == PRIMARY.name
    }
    if data.analysis.primary is not None:
        primary = data.analysis.primary
        results[primary.task, primary.view] = primary
    planned = {task for task, _ in data.places}
    columns = (
        Column("task", numeric=False),
        Column("view", numeric=False),
        Column("D − B, pp"),
        Column("95 % interval, pp"),
        Column("families"),
        Column("verdict", numeric=False),
    )
    rows: list[tuple[str, ...]] = []
    for task, view in data.places:
        row = results.get((task, view))
        if row is not None:
            got = f"{row.families} / {row.families_planned}"
            numbers = (points(row.estimate_pp), points_range(row.ci95), got, row.verdict)
            rows.append((TASK_TITLES[task], VIEW_TITLES[view], *numbers))
    rows += [(TASK_TITLES[task], "–", "–", "–", "–", "not run") for task in TASKS if task not in planned]
    return Table("D − B in every task", columns, tuple(rows))


def _task_part(data: RunData, place: tuple[str, str]) -> list[Block]:
    trials = data.at(*place)
    blocks: list[Block] = [_outcomes(f"Outcomes: {titled(*place)}", trials)]
    diagnosed = _diagnoses(f"What the failures looked like: {titled(*place)}", trials)
    if diagnosed is not None:
        blocks.append(diagnosed)
        if place[0] == "scope_lookup":
            blocks.append(say(READINGS_TOLD))
    if place != data.main_place:
        rows = [row for row in data.analysis.contrasts if (row.task, row.view) == place]
        blocks.append(contrast_table(f"Contrasts: {titled(*place)} (exploratory)", rows))
        blocks.append(Figure(f"contrasts-{place[0]}-{place[1]}", f"{WITH_INTERVALS}: {titled(*place)}."))
    return blocks


def _outcomes(caption: str, trials: Sequence[ResultRow]) -> Table:
    found: Counter[tuple[str, str]] = Counter((trial.outcome.value, trial.row.syntax) for trial in trials)
    return _crossed(caption, "outcome", found)


def _diagnoses(caption: str, trials: Sequence[ResultRow]) -> Table | None:
    found: Counter[tuple[str, str]] = Counter()
    for trial in trials:
        found.update((text, trial.row.syntax) for text in diagnosis_words(trial))
    return _crossed(caption, "diagnosis", found) if found else None


VALUES_SHOWN = ("answered", "error_class", "length_difference")
PRESENCES_SHOWN = ("misordered", "closed_names", "unknown_names", "missing_names", "repeated_names", "wrong_names")


def diagnosis_words(trial: ResultRow) -> list[str]:
    """The diagnosis of one trial as words for the table; places and lists of names are left to ``errors.csv``."""
    found = trial.diagnosis
    values = [f"{name} = {found[name]}" for name in VALUES_SHOWN if name in found]
    if {"found", "expected"} <= found.keys():  # where the tree written first parts from the tree asked for
        values.append(f"{found['found']} in place of {found['expected']}")
    return values + [f"has {name}" for name in PRESENCES_SHOWN if found.get(name)]


def _crossed(caption: str, what: str, found: Counter[tuple[str, str]]) -> Table:
    syntaxes = sorted({syntax for _, syntax in found}, key=labelled)
    names = sorted({name for name, _ in found}, key=lambda name: (-sum(found[name, s] for s in syntaxes), name))
    columns = (Column(what, numeric=False), *(Column(labelled(syntax)) for syntax in syntaxes))
    rows: list[Line] = [(Code(name), *(str(found[name, syntax]) for syntax in syntaxes)) for name in names]
    return Table(caption, columns, tuple(rows))
