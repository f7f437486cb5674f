"""Puts the ten sections of section 11 together, in their order, into one document.

Order and titles only; each section is made in its own module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.report.document import Block, Document, Figure, Heading, say
from bench.report.section_closing import example_blocks, limit_blocks
from bench.report.section_contrasts import exploratory_blocks, reading_and_writing_blocks
from bench.report.section_notations import breakdown_blocks, notation_blocks
from bench.report.section_primary import primary_blocks
from bench.report.section_status import condition_blocks, count_blocks, status_blocks, status_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.report.run_data import RunData

SECTION_TITLES = (
    "1. Status and summary",
    "2. Conditions, protocol hash, model, dates",
    "3. Planned, executed, valid families, missing",
    "4. Primary comparison D − B",
    "5. The five notations: accuracy, truncation, usage",
    "6. Natural and nonce words, depth, filler",
    "7. Exploratory contrasts: D − E, D − C, C − B and others",
    "8. Reading and writing",
    "9. Examples of failure",
    "10. Limits and candidates for next experiments",
)


def compose(data: RunData) -> Document:
    """The whole report of a run that may be seen."""
    sections: tuple[Callable[[RunData], list[Block]], ...] = (
        status_blocks,
        condition_blocks,
        count_blocks,
        _primary_and_drift,
        notation_blocks,
        breakdown_blocks,
        exploratory_blocks,
        reading_and_writing_blocks,
        example_blocks,
        limit_blocks,
    )
    blocks: list[Block] = [Heading(1, report_title(data))]
    for title, section in zip(SECTION_TITLES, sections, strict=True):
        blocks += [Heading(2, title), *section(data)]
    return Document(status_line(data), tuple(blocks))


def _primary_and_drift(data: RunData) -> list[Block]:
    drift = "Accuracy over the course of the run, in order of sending, eight equal parts."
    return [
        *primary_blocks(data),
        Figure("drift", drift),
        say("A slope shared by both notations is drift of the service; only a difference that changes bears on D − B."),
    ]


def report_title(data: RunData) -> str:
    """What the report is about, with the model's name."""
    found = data.conditions
    mock = ", synthetic mock" if data.kind.synthetic else ""
    return f"Do ends that repeat kind and name help? {found.preset} {found.phase}, {found.model}{mock}"
