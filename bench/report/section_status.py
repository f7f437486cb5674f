"""Sections 1 to 3: where the run stands and what came out, under which conditions, and what is missing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bench.report.denominators import COUNT_COLUMNS, accuracy_table, count_cells
from bench.report.document import Block, Bullets, Code, Column, Line, Paragraph, Strong, Table, say
from bench.report.formatting import plural, share
from bench.report.illustration import GLOSSARY, closers_table, illustration_blocks
from bench.report.interpretation import interpret, refined
from bench.report.notations import TASK_QUESTIONS, TASK_TITLES, VIEW_TITLES, labelled, titled
from bench.report.section_primary import contains_zero, could_have_missed, headline
from bench.report.states import LOCAL_CAVEAT, MOCK_CAVEAT, NOT_LIVE, states_table
from bench.score.outcome import MISSING
from bench.stats.denominators import by_syntax, counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.report.run_data import RunData
    from bench.score.table import ResultRow

MEASURED = (
    "What was measured: a language model reads (or writes) small programs of nested blocks. The same program is shown "
    "in notations that differ only in how a block ends, and the same question is asked about each. The question "
    "of this run is whether ends that repeat the kind and name of their block (D named_end) change how often the "
    "answer is right, compared with a bare end line (B generic_end)."
)


def status_line(data: RunData) -> str:
    """The report's very first line: provisional or complete, synthetic or not."""
    total = len(data.trials)
    done = sum(trial.terminal for trial in data.trials)
    mock = "SYNTHETIC MOCK, no model was asked. " if data.kind.synthetic else ""
    if done < total:
        return (
            f"PROVISIONAL: {total - done:,} of {total:,} planned trials are not terminal. {mock}"
            "No number below is a final result."
        )
    return f"Complete: all {total:,} planned trials are terminal. {mock}".rstrip()


def status_blocks(data: RunData) -> list[Block]:
    """The blocks of section 1."""
    return [
        *_warnings(data),
        say(MEASURED),
        *caveats(data),
        states_table(data.kind),
        *_summary(data),
    ]


def caveats(data: RunData) -> list[Block]:
    """What kind of run this is, before any number."""
    lines: list[Line] = []
    if data.kind.synthetic:
        lines.append((Strong(MOCK_CAVEAT),))
    elif data.kind.local:
        lines.append((Strong(LOCAL_CAVEAT),))
    if data.kind.synthetic or not data.kind.live:
        lines.append((NOT_LIVE,))
    if data.conditions.preset == "smoke":
        lines.append(("The smoke plan holds four hand-made programs: it shows that the parts work together, no more.",))
    elif not data.kind.confirmatory:
        lines.append(
            ("This is no confirmatory run: its plan was not frozen, and its results may not be pooled with one.",)
        )
    return [Bullets(tuple(lines))] if lines else []


def _warnings(data: RunData) -> list[Block]:
    """Missing infrastructure above the limit is said before any comparison; unblinding is quoted for ever."""
    found = counts(data.trials)
    limit = data.analysis.settings.max_infrastructure_missing
    blocks: list[Block] = []
    if found.infrastructure_missing_share > limit:
        blocks.append(
            say(
                Strong(
                    f"Infrastructure failures: {found.infrastructure_missing:,} of {found.planned:,} planned trials "
                    f"({share(found.infrastructure_missing_share)}) were sent and have no evaluable result, above the "
                    f"limit of {share(limit)}."
                ),
                " Find out why, and whether notations are hit differently (section 3), before reading any comparison. "
                "No verdict is given.",
            )
        )
    return [*blocks, *unblinding(data.events)]


def unblinding(events: Sequence[object]) -> list[Block]:
    """Every lifting of the blind, quoted."""
    lifted = [event for event in events if isinstance(event, dict) and event.get("kind") == "report_unblinded"]
    return [
        say(
            Strong(f"Unblinded before the stop rule was met, at {event.get('at')}"),
            f", with {event.get('terminal')} of {event.get('planned')} trials terminal. Results seen after that were "
            "not seen blind.",
        )
        for event in lifted
    ]


def _summary(data: RunData) -> list[Block]:
    primary = data.analysis.primary
    blocks: list[Block] = []
    if primary is not None:
        blocks.append(Paragraph(headline(primary)))
        if contains_zero(primary) and primary.verdict != "withheld":
            blocks.append(say(could_have_missed(primary)))
    sentences = interpret(verdicts(data), smallest_effect_pp=data.conditions.smallest_effect_pp)
    if sentences:
        prefix = "What the rules of interpretation say about these numbers"
        suffix = " (about a program that makes up answers, not about a model):" if data.kind.synthetic else ":"
        blocks += [say(prefix + suffix), Bullets(tuple((sentence,) for sentence in sentences))]
    task, view = data.main_place
    blocks.append(by_notation_table(f"Accuracy by notation: {titled(task, view)}", data.at(task, view)))
    return blocks


def by_notation_table(caption: str, trials: Sequence[ResultRow]) -> Table:
    """Accuracy and denominators, a notation a row."""
    rows = [((labelled(syntax),), group) for syntax, group in by_syntax(trials)]
    return accuracy_table(caption, (Column("notation", numeric=False),), rows)


def verdicts(data: RunData) -> dict[tuple[str, str, str], str]:
    """Verdict by task, view and contrast, of everything that was planned."""
    results = [*data.analysis.contrasts, *([data.analysis.primary] if data.analysis.primary else [])]
    return {(result.task, result.view, result.contrast): refined(result.verdict, result.ci95) for result in results}


def condition_blocks(data: RunData) -> list[Block]:
    """The blocks of section 2."""
    rows = tuple((name, Code(value) if value else "–") for name, value in (*data.conditions.rows, *_observed(data)))
    return [
        Bullets(tuple((f"{TASK_TITLES[task]}: {TASK_QUESTIONS[task]}",) for task in _tasks(data))),
        *illustration_blocks(data.conditions.shots),
        closers_table(sorted(_syntaxes(data), key=labelled)),
        Bullets(tuple((line,) for line in GLOSSARY)),
        Table("Conditions", (Column("what", numeric=False), Column("value", numeric=False)), rows),
        say(
            "Requested and returned model names are what was asked for and what the server says; unless the name is a "
            "dated snapshot, nobody can promise that the same weights answered throughout. Prompts hold "
            f"{data.conditions.shots} examples, ask for the answer only, and are the same in every notation but for "
            "the notation."
        ),
    ]


def _syntaxes(data: RunData) -> set[str]:
    return {trial.row.syntax for trial in data.trials}


def _tasks(data: RunData) -> list[str]:
    return list(dict.fromkeys(task for task, _ in data.places))


def _observed(data: RunData) -> tuple[tuple[str, str], ...]:
    """What the answers themselves say about the conditions."""
    models = sorted({trial.returned_model for trial in data.trials if trial.returned_model})
    sent = [trial.sent_at for trial in data.trials if trial.sent_at]
    ended = [trial.ended_at for trial in data.trials if trial.ended_at]
    return (
        ("model returned", ", ".join(models)),
        ("backend", ", ".join(sorted(data.kind.backends))),
        ("first request sent (UTC)", min(sent, default="")),
        ("last trial ended (UTC)", max(ended, default="")),
    )


def count_blocks(data: RunData) -> list[Block]:
    """The blocks of section 3."""
    places = [((TASK_TITLES[task], VIEW_TITLES[view]), data.at(task, view)) for task, view in data.places]
    labels = (Column("task", numeric=False), Column("view", numeric=False))
    planned = Table(
        "Trials by task and view",
        (*labels, *COUNT_COLUMNS),
        tuple((*label, *count_cells(counts(trials))) for label, trials in [*places, (("all", "–"), data.trials)]),
    )
    return [planned, _outcomes_by_notation(data), *_missing_note(data)]


def _outcomes_by_notation(data: RunData) -> Table:
    found: Counter[tuple[str, str]] = Counter((trial.outcome.value, trial.row.syntax) for trial in data.trials)
    syntaxes = sorted(_syntaxes(data), key=labelled)
    names = list(
        dict.fromkeys(trial.outcome.value for trial in sorted(data.trials, key=lambda trial: trial.outcome.value))
    )
    columns = (
        Column("outcome", numeric=False),
        Column("counts as", numeric=False),
        *(Column(labelled(syntax)) for syntax in syntaxes),
    )
    missing = {outcome.value for outcome in MISSING}
    rows = tuple(
        (
            Code(name),
            "missing" if name in missing else "1" if name == "correct" else "0",
            *(f"{found[name, syntax]:,}" for syntax in syntaxes),
        )
        for name in names
    )
    return Table("Outcomes by notation, all tasks", columns, rows)


def _missing_note(data: RunData) -> list[Block]:
    found = counts(data.trials)
    lost, unsent = found.infrastructure_missing, found.not_dispatched
    if not lost and not unsent:
        return [say("Nothing is missing: every planned trial was sent and can be judged.")]
    return [
        say(
            f"Missing: {plural(lost, 'trial')} sent without an evaluable result (network, server or undecided), "
            f"{plural(unsent, 'trial')} not sent. Missing trials are counted as missing and never as wrong."
        )
    ]
