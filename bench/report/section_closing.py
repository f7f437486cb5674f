"""Sections 9 and 10: examples of failure by the fixed rule; limits and what to do next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bench.plan.records import TASKS
from bench.report.document import Block, Bullets, Code, Column, Heading, Line, Listing, Strong, Table, say
from bench.report.escaping import excerpt
from bench.report.examples import HEAD_LINES, PER_KIND, TAIL_LINES, Pair, choose, evaluable_pairs, input_excerpt
from bench.report.notations import LETTERS, TASK_TITLES, labelled, titled
from bench.run.records_io import read_run_terminal
from bench.stats.contrast import PRIMARY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bench.report.run_data import RunData
    from bench.score.table import ResultRow

RULE = (
    "Chosen by a rule fixed beforehand: of all pairs (same program, words and replicate under D and B, both evaluable) "
    f"up to {PER_KIND} of each kind, those whose hash (the smaller of the two trial ids) is smallest. Nobody picked "
    f"them. Inputs are the TEST part of the user message; where that is longer than {HEAD_LINES + TAIL_LINES} lines, "
    f"its first {HEAD_LINES} and last {TAIL_LINES}. Characters that act without being seen are written as ⟨U+XXXX⟩."
)

STANDING_LIMITS = (
    (
        "One model under one setting: nothing here carries over to other models, efforts, prompts or real programming "
        "languages without being measured there."
    ),
    (
        "Results are conditional on the 8 example sets and the 8 nonce lexicons that were drawn once; section 6 leaves "
        "each example set out in turn. Other sets, and artificial words in general, were not sampled."
    ),
    (
        "Accuracy, tokens and time are what can be seen from outside. They are no measure of effort or of attention "
        "inside a model."
    ),
    (
        "Repeating a name also makes prompts longer and puts the name near the question. The design compares with a "
        "long end without information (E), but does not separate search cues, easier separation and length."
    ),
    (
        "The percentile interval is somewhat short with few families per cell; where that matters it is flagged "
        "narrow, and the t interval and the exact test stand beside it."
    ),
)


def example_blocks(data: RunData) -> list[Block]:
    """The blocks of section 9."""
    task, view = data.main_place
    pairs = evaluable_pairs(data.at(task, view), plus=PRIMARY.plus, minus=PRIMARY.minus)
    kinds = choose(pairs, plus=LETTERS[PRIMARY.plus], minus=LETTERS[PRIMARY.minus])
    right = data.expected([half.row for kind in kinds for pair in kind.pairs for half in (pair.plus, pair.minus)])
    blocks: list[Block] = [say(RULE), say(f"Shown for: {titled(task, view)}.")]
    for chosen in kinds:
        blocks.append(Heading(3, f"{chosen.kind}: {chosen.total} of {len(pairs)} pairs"))
        if not chosen.pairs:
            blocks.append(say("None."))
        for number, pair in enumerate(chosen.pairs, 1):
            blocks += _example(data, pair, title=f"{chosen.kind}, example {number}", right=right)
    return blocks


def _example(data: RunData, pair: Pair, *, title: str, right: Mapping[str, str]) -> list[Block]:
    row = pair.plus.row
    words = "natural words" if row.lexicon_set is None else f"nonce words, set {row.lexicon_set}"
    blocks: list[Block] = [
        Heading(4, title),
        say(
            "Case ",
            Code(row.case_id),
            f": depth {row.depth}, filler {row.filler}, {words}, {row.lookup_kind} lookup, replicate {row.replicate}.",
        ),
        *_right_answer(pair, right),
        _judgements(pair),
    ]
    for half in (pair.plus, pair.minus):
        blocks += _half(data, half)
    return blocks


def _right_answer(pair: Pair, right: Mapping[str, str]) -> list[Block]:
    """One answer for both notations when reading; when writing, each notation has a text of its own."""
    if pair.plus.row.view != "program":
        return [say("Right answer: ", Code(right[pair.plus.row.trial_id]), ".")]
    return [
        Listing(f"Right answer in {labelled(half.row.syntax)}:", excerpt(right[half.row.trial_id]).shown)
        for half in (pair.plus, pair.minus)
    ]


def _judgements(pair: Pair) -> Table:
    columns = (
        Column("notation", numeric=False),
        Column("trial id", numeric=False),
        Column("outcome", numeric=False),
        Column("why", numeric=False),
        Column("diagnosis", numeric=False),
    )
    rows = tuple(
        (
            labelled(half.row.syntax),
            Code(half.row.trial_id),
            Code(half.outcome.value),
            half.reason or "–",
            Code(_diagnosis(half)) if half.diagnosis else "–",
        )
        for half in (pair.plus, pair.minus)
    )
    return Table("Judgement", columns, rows)


def _diagnosis(trial: ResultRow) -> str:
    return excerpt(
        ", ".join(f"{key}: {value}" for key, value in sorted(trial.diagnosis.items())), head=300, tail=0
    ).shown


def _half(data: RunData, trial: ResultRow) -> list[Block]:
    folder = data.run_dir / "trials" / trial.row.trial_id
    name = labelled(trial.row.syntax)
    shown = input_excerpt(_user_message(folder / "request.json"))
    return [
        Listing(
            f"Input in {name} ({shown.ranges} lines of the user message; "
            f"whole request in trials/{trial.row.trial_id}/request.json):",
            shown.text,
        ),
        Listing(f"Raw answer in {name}:", _answer(data.run_dir, trial.row.trial_id)),
    ]


def _user_message(path: Path) -> str:
    """The user message of a stored request; a note in its place if the file cannot be read as one."""
    try:
        return str(json.loads(path.read_bytes())["input"][0]["content"])
    except (OSError, ValueError, LookupError, TypeError):
        return "(the stored request is missing or unreadable)"


def _answer(run_dir: Path, trial_id: str) -> str:
    record = read_run_terminal(run_dir, trial_id)
    if record is None:
        return "(no record)"
    if record.refusals:
        return "(refusal) " + excerpt(" ".join(record.refusals)).shown
    return excerpt(record.text).shown if record.text else "(no text)"


FLUSH_LEFT = "Programs are synthetic, flush left and without computation. Indentation would be a strong cue of its own."
INDENTED = "Programs are synthetic, indented and without computation."


def limit_blocks(data: RunData) -> list[Block]:
    """The blocks of section 10."""
    return [
        Bullets((*((limit,) for limit in STANDING_LIMITS), *_limits_of_this_run(data))),
        say("What could come next, none of it decided by this report:"),
        Bullets(_next_steps(data)),
    ]


def _limits_of_this_run(data: RunData) -> list[Line]:
    lines: list[Line] = [(INDENTED if data.conditions.indented else FLUSH_LEFT,)]
    lines += [(caution,) for caution in data.conditions.cautions]
    if data.kind.synthetic:
        lines.append((Strong("This run is synthetic: nothing in it is evidence about any model."),))
    elif data.kind.local:
        lines.append((Strong("A small local base model answered: nothing in it is evidence about frontier models."),))
    missing_tasks = [TASK_TITLES[task] for task in TASKS if task not in {place[0] for place in data.places}]
    if missing_tasks:
        lines.append((f"Not run here: {', '.join(missing_tasks)}.",))
    judged = [trial.strict for trial in data.at(*data.main_place) if trial.strict is not None]
    pooled = sum(judged) / len(judged) if judged else None
    if pooled is not None and pooled >= CEILING:
        lines.append(("Pooled accuracy is near its ceiling: differences have hardly room to show.",))
    if pooled is not None and pooled <= FLOOR:
        lines.append(("Pooled accuracy is near its floor: differences have hardly room to show.",))
    return lines


CEILING, FLOOR = 0.98, 0.10


def _next_steps(data: RunData) -> tuple[Line, ...]:
    steps: list[Line] = []
    if not data.kind.live or data.kind.synthetic:
        steps.append(("Run the same plan on the live API under explicit caps.",))
    if not data.kind.confirmatory:
        steps.append(("Choose difficulty from the blind view, freeze the main plan, and run it once.",))
    steps += [
        ("Other efforts of the same model, other models, two-space indentation, other numbers of examples.",),
        ("Blocks of one kind only, so that kinds carry no information and names are all that is left.",),
        ("Ends that carry a wrong but well-formed name: if they do no harm, names are not read.",),
    ]
    return tuple(steps)
