"""The columns of an exported table, each defined once: name, type, unit, meaning and where its value comes from.

Table and data dictionary are both made from `FIELDS`, so neither can say what the other does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bench.plan.records import ALL_SYNTAXES, TASKS
from bench.report.escaping import one_line
from bench.report.notations import LETTERS
from bench.score.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.run.records import TerminalRecord
    from bench.score.table import ResultRow

FieldType = Literal["text", "integer", "number", "boolean"]
ANSWER_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class ExportRow:
    """One planned trial with what its run, its prompt and its record add."""

    trial: ResultRow
    protocol_hash: str
    preset: str
    phase: str
    model: str
    effort: str | None
    prompt_characters: int
    terminal: TerminalRecord | None


@dataclass(frozen=True, slots=True)
class ExportField:
    """One column. ``unit`` is empty where there is none; a missing value is an empty cell, never 0."""

    name: str
    type: FieldType
    unit: str
    meaning: str
    value: Callable[[ExportRow], object]


def _answer(row: ExportRow) -> str | None:
    text = row.terminal and (row.terminal.text or " ".join(row.terminal.refusals))
    return one_line(text[:ANSWER_CHARACTERS]) if text else None


def _diagnosis(row: ExportRow) -> str | None:
    found = row.trial.diagnosis
    return one_line("; ".join(f"{key}={value}" for key, value in sorted(found.items()))) if found else None


FIELDS: tuple[ExportField, ...] = (
    ExportField("trial_id", "text", "", "Id of the trial; the key of this table.", lambda r: r.trial.row.trial_id),
    ExportField("protocol_hash", "text", "", "SHA-256 of the run's protocol.", lambda r: r.protocol_hash),
    ExportField("preset", "text", "", "The preset that was planned.", lambda r: r.preset),
    ExportField("phase", "text", "", "p0: the main task alone; p1: every task of the preset.", lambda r: r.phase),
    ExportField("model", "text", "", "The model that was asked for.", lambda r: r.model),
    ExportField("reasoning_effort", "text", "", "Effort that was asked for; empty: not sent.", lambda r: r.effort),
    ExportField("position", "integer", "", "Place in the order of sending, from 0.", lambda r: r.trial.row.position),
    ExportField(
        "block", "integer", "", "The notations of one case and replicate; sent together.", lambda r: r.trial.row.block
    ),
    ExportField(
        "case_id", "text", "", "Family, task, view and words; one right answer.", lambda r: r.trial.row.case_id
    ),
    ExportField(
        "family_id",
        "text",
        "",
        "One base program; the unit of analysis: cluster by it.",
        lambda r: r.trial.row.family_id,
    ),
    ExportField("task", "text", "", f"One of {', '.join(TASKS)}.", lambda r: r.trial.row.task),
    ExportField("view", "text", "", "before_close, after_close or program.", lambda r: r.trial.row.view),
    ExportField("syntax", "text", "", f"Notation, one of {', '.join(ALL_SYNTAXES)}.", lambda r: r.trial.row.syntax),
    ExportField(
        "letter", "text", "", "The notation's letter in reports, A to F.", lambda r: LETTERS[r.trial.row.syntax]
    ),
    ExportField("lexical", "text", "", "natural or nonce words.", lambda r: r.trial.row.lexical),
    ExportField("lexicon_set", "integer", "", "Nonce set 0 to 7; empty: natural.", lambda r: r.trial.row.lexicon_set),
    ExportField("example_set", "integer", "", "Example set 0 to 7.", lambda r: r.trial.row.example_set),
    ExportField("depth", "integer", "blocks", "Peak depth of nesting.", lambda r: r.trial.row.depth),
    ExportField("filler", "integer", "lines", "Lines without effect before the closes.", lambda r: r.trial.row.filler),
    ExportField("seed_index", "integer", "", "Number of the family in its cell.", lambda r: r.trial.row.seed_index),
    ExportField(
        "lookup_kind",
        "text",
        "",
        "inner: the innermost open block binds the variable after the closes; outer: one further out.",
        lambda r: r.trial.row.lookup_kind,
    ),
    ExportField("replicate", "integer", "", "Repetition of the same request, from 0.", lambda r: r.trial.row.replicate),
    ExportField("outcome", "text", "", f"One of {', '.join(Outcome)}.", lambda r: r.trial.outcome.value),
    ExportField(
        "strict",
        "integer",
        "",
        "1 correct, 0 another answer of the model, empty: missing (never sent, or lost on the way).",
        lambda r: r.trial.strict,
    ),
    ExportField(
        "lenient",
        "integer",
        "",
        "The same with a code fence taken off and incomplete text read; enters no primary number.",
        lambda r: r.trial.lenient,
    ),
    ExportField("reason", "text", "", "Why the outcome is what it is.", lambda r: one_line(r.trial.reason) or None),
    ExportField("diagnosis", "text", "", "What a wrong answer looks like, key=value; …", _diagnosis),
    ExportField(
        "answer",
        "text",
        "",
        f"What the model said, first {ANSWER_CHARACTERS} characters, on one line and made harmless (line feeds ⏎, "
        "unseen characters ⟨U+XXXX⟩; in CSV a leading ' before =, +, - and @); exact in `terminal.json` of its trial.",
        _answer,
    ),
    ExportField("dispatched", "boolean", "", "Whether anything was sent for it.", lambda r: r.trial.dispatched),
    ExportField("terminal", "boolean", "", "Whether it has ended.", lambda r: r.trial.terminal),
    ExportField("prompt_characters", "integer", "characters", "Length of the prompt.", lambda r: r.prompt_characters),
    ExportField("input_tokens", "integer", "tokens", "Input, as reported.", lambda r: r.trial.input_tokens),
    ExportField("cached_input_tokens", "integer", "tokens", "Cached input.", lambda r: r.trial.cached_input_tokens),
    ExportField("output_tokens", "integer", "tokens", "Output with reasoning.", lambda r: r.trial.output_tokens),
    ExportField("reasoning_tokens", "integer", "tokens", "Reasoning.", lambda r: r.trial.reasoning_tokens),
    ExportField("total_tokens", "integer", "tokens", "Input and output.", lambda r: r.trial.total_tokens),
    ExportField("attempts", "integer", "", "Generation requests, retries included.", lambda r: r.trial.attempts),
    ExportField("attempt_s", "number", "seconds", "Time in requests, all attempts.", lambda r: r.trial.attempt_s),
    ExportField("total_s", "number", "seconds", "Time with queueing and waiting.", lambda r: r.trial.total_s),
    ExportField("sent_at", "text", "UTC, ISO 8601", "First sent.", lambda r: r.trial.sent_at),
    ExportField("ended_at", "text", "UTC, ISO 8601", "Ended.", lambda r: r.trial.ended_at),
    ExportField(
        "returned_model", "text", "", "The model's name in the answer.", lambda r: _inert(r.trial.returned_model)
    ),
    ExportField("backend", "text", "", "live, local, or mock- and its mode.", lambda r: r.trial.backend),
    ExportField(
        "synthetic_mock",
        "boolean",
        "",
        "true: the answer was fabricated and says nothing about any model.",
        lambda r: r.trial.synthetic_mock,
    ),
)


def _inert(text: str | None) -> str | None:
    return None if text is None else one_line(text)


def dictionary_text() -> str:
    """The data dictionary as Markdown."""
    lines = [
        "# Data dictionary",
        "",
        "One row is one planned trial. A missing value is an empty cell (Parquet: null), never 0.",
        "",
        "| column | type | unit | meaning |",
        "|---|---|---|---|",
        *(f"| `{field.name}` | {field.type} | {field.unit or '-'} | {field.meaning} |" for field in FIELDS),
    ]
    return "\n".join(lines) + "\n"
