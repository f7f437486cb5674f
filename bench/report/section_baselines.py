"""What section 5 sets beside the model: rules of thumb that track no scopes, prompt lengths, lenient scores.

The rules and lengths come from ``audit.json``; here they are only arranged.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from bench.report.denominators import group_by
from bench.report.document import Block, Column, Heading, Line, Strong, Table, say
from bench.report.formatting import share, whole
from bench.report.notations import TASK_TITLES, VIEW_TITLES, labelled, titled
from bench.stats.denominators import by_syntax, counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.report.run_data import RunData
    from bench.score.table import ResultRow

_LENGTH = "mean length of a prompt, "
READING_TASK = "scope_lookup"
NEAR_RULE = "one close too few"
NAMED_RULES = 2


def shortcut_blocks(data: RunData) -> list[Block]:
    """The best rule that tracks no scopes, beside the model, by view, depth and kind of lookup."""
    found = data.audit.get("shortcuts")
    entries = [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
    if not entries:
        return [say("Shortcut baselines: there is no audit of this plan beside the run.")]
    columns = (
        Column("view, depth, lookup", numeric=False),
        Column("families"),
        Column("best rule that tracks no scopes", numeric=False),
        Column("its accuracy"),
        Column(NEAR_RULE),
        Column("model, all notations"),
    )
    table = Table(
        "What simple rules reach on these very programs, beside the model (T1)",
        columns,
        tuple(_shortcut_row(data, where, list(group)) for where, group in groupby(entries, key=lambda e: e["where"])),
    )
    return [
        Heading(3, "Baselines and lengths"),
        table,
        say(
            "An accuracy that such a rule reaches as well is no sign of reading scopes. The rules look at the order of "
            "bindings alone; the best of them is chosen after the fact in each row, and with few families that choice "
            "flatters it. On fresh programs none passes 62 % after closes. Before closes the last binding of the "
            "variable is right by construction. One close too few nearly tracks scopes and is shown apart."
        ),
    ]


def _shortcut_row(data: RunData, where: str, entries: Sequence[Mapping[str, Any]]) -> Line:
    """``where`` reads like ``after_close, depth 8, inner``."""
    view, *_ = where.split(", ")
    own = [trial for trial in data.at(READING_TASK, view) if where == _where(trial)]
    blind = [entry for entry in entries if not entry["tracks"]]
    best = max(entry["accuracy"] for entry in blind)
    names = [entry["rule"] for entry in blind if entry["accuracy"] == best]
    more = f" and {len(names) - NAMED_RULES} more" if len(names) > NAMED_RULES else ""
    near = next((entry["accuracy"] for entry in entries if entry["rule"] == NEAR_RULE), None)
    shown = where.replace(view, VIEW_TITLES.get(view, view))
    cases = str(entries[0]["cases"])
    return (shown, cases, ", ".join(names[:NAMED_RULES]) + more, share(best), share(near), share(counts(own).accuracy))


def _where(trial: ResultRow) -> str:
    return f"{trial.row.view}, depth {trial.row.depth}, {trial.row.lookup_kind}"


def _audit_rows(data: RunData) -> list[dict[str, Any]]:
    rows = data.audit.get("rows")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def length_blocks(data: RunData) -> list[Block]:
    """Characters and input tokens of a prompt by notation, and whether E pads as much as D."""
    blocks: list[Block] = []
    characters = _character_rows(_audit_rows(data))
    syntaxes = [syntax for syntax, _ in by_syntax(data.trials)]
    head = (
        Column("task", numeric=False),
        Column("words", numeric=False),
        *(Column(labelled(name)) for name in syntaxes),
    )
    if characters:
        rows = tuple(
            (TASK_TITLES.get(task, task), lexical, *(whole(means.get(name)) for name in syntaxes))
            for (task, lexical), means in characters.items()
        )
        blocks.append(Table("Mean characters of a prompt", head, rows))
    tokens = _token_rows(data.trials)
    rows = tuple(
        (TASK_TITLES.get(task, task), lexical, *(whole(means.get(name)) for name in syntaxes))
        for (task, lexical), means in tokens.items()
    )
    return [*blocks, Table("Mean input tokens of a prompt, as counted or reported", head, rows), *_padding(tokens)]


def _character_rows(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], dict[str, float]]:
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        name = str(row["name"])
        if name.startswith(_LENGTH):
            task, syntax, lexical = name.removeprefix(_LENGTH).split(", ")
            found.setdefault((task, lexical), {})[syntax] = row["number"]
    return dict(sorted(found.items(), key=lambda item: _place_order(item[0])))


def _place_order(place: tuple[str, str]) -> tuple[int, str]:
    """Tasks from T1 to T3, then words."""
    return (list(TASK_TITLES).index(place[0]), place[1])


def _token_rows(trials: Sequence[ResultRow]) -> dict[tuple[str, str], dict[str, float]]:
    """Means by task and regime, then by notation; only over trials whose tokens are known."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    groups = group_by(trials, lambda trial: (trial.row.task, trial.row.lexical))
    for place in sorted(groups, key=_place_order):
        found[place] = {}
        for syntax, own in by_syntax(groups[place]):
            known = [tokens for trial in own if (tokens := _input_tokens(trial)) is not None]
            if known:
                found[place][syntax] = sum(known) / len(known)
    return found


def _input_tokens(trial: ResultRow) -> int | None:
    return trial.input_tokens if trial.counted_input_tokens is None else trial.counted_input_tokens


def _padding(tokens: Mapping[tuple[str, str], Mapping[str, float]]) -> list[Block]:
    """Where E has fewer tokens than D it under-pads, and D − E still contains length."""
    both = {place: means for place, means in tokens.items() if {"named_end", "padded_end"} <= means.keys()}
    if not both:
        return [say("Whether E pads as many tokens as D is not known: no input tokens are known for both.")]
    under = [
        f"{TASK_TITLES.get(task, task)}, {lexical}"
        for (task, lexical), means in both.items()
        if means["padded_end"] < means["named_end"]
    ]
    if not under:
        return [say("E has at least as many tokens as D everywhere: D − E is not a matter of D being longer.")]
    return [
        say(
            Strong(f"E has fewer tokens than D in: {'; '.join(under)}."),
            " There E under-pads, and D − E still contains some difference in length.",
        )
    ]


def lenient_blocks(data: RunData) -> list[Block]:
    """Auxiliary scores, kept out of every other number."""
    rows = []
    for task, view in data.places:
        for syntax, trials in by_syntax(data.at(task, view)):
            known = [trial for trial in trials if trial.lenient is not None and trial.outcome.evaluable]
            strict = sum(trial.strict or 0 for trial in known)
            lenient = sum(trial.lenient or 0 for trial in known)
            cells = (len(known), strict, lenient, lenient - strict)
            rows.append((titled(task, view), labelled(syntax), *(f"{cell:,}" for cell in cells)))
    columns = (
        Column("task and view", numeric=False),
        Column("notation", numeric=False),
        Column("answers with text"),
        Column("correct, strict"),
        Column("correct, lenient"),
        Column("gained"),
    )
    caption = "Auxiliary: one covering code fence removed, text of incomplete answers graded too; enters nothing else"
    return [Table(caption, columns, tuple(rows))]
