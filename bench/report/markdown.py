"""Writes a report document as Markdown (GitHub's flavour, for its tables).

No wording and no numbers here. All text goes through ``escaping``.
"""

from __future__ import annotations

from typing import assert_never

from bench.report.document import (
    Block,
    Bullets,
    Code,
    Column,
    Document,
    Figure,
    Heading,
    Inline,
    Line,
    Listing,
    Paragraph,
    Strong,
    Table,
)
from bench.report.escaping import markdown_block, markdown_code, markdown_paragraph, markdown_text


def render_markdown(document: Document) -> str:
    """The document as Markdown text; ends with one line feed."""
    blocks = "\n\n".join(_block(block) for block in document.blocks)
    return f"{markdown_paragraph(markdown_text(document.first_line))}\n\n{blocks}\n"


def _block(block: Block) -> str:  # one arm for each kind of block
    match block:
        case Heading(level, text):
            return f"{'#' * level} {markdown_text(text)}"
        case Paragraph(parts):
            return markdown_paragraph(_line(parts))
        case Bullets(items):
            return "\n".join(f"- {markdown_paragraph(_line(item))}" for item in items)
        case Table():
            return _table(block)
        case Figure(name, caption):
            return f"![{markdown_text(caption)}](figures/{name}.svg)\n\n{_figure_note(name, caption)}"
        case Listing(caption, text):
            return f"{markdown_paragraph(markdown_text(caption))}\n\n{markdown_block(text)}"
        case _:
            assert_never(block)


def _figure_note(name: str, caption: str) -> str:
    return f"*Figure: {markdown_text(caption)}* Numbers: [{name}.csv](figures/{name}.csv)."


def _line(parts: Line) -> str:
    return "".join(_inline(part) for part in parts)


def _inline(part: Inline, *, in_table: bool = False) -> str:
    match part:
        case Code(text):
            return markdown_code(text, in_table=in_table)
        case Strong(text):
            return f"**{markdown_text(text)}**"
        case str():
            return markdown_text(part)
        case _:
            assert_never(part)


def _table(table: Table) -> str:
    head = [markdown_text(column.title) for column in table.columns]
    body = [[_inline(cell, in_table=True) for cell in row] for row in table.rows]
    widths = [max(3, *(len(row[at]) for row in [head, *body])) for at in range(len(head))]
    rule = "|".join(_rule(column, width) for column, width in zip(table.columns, widths, strict=True))
    lines = [_row(head, table.columns, widths), f"|{rule}|", *(_row(row, table.columns, widths) for row in body)]
    return f"**{markdown_text(table.caption)}**\n\n" + "\n".join(lines)


def _rule(column: Column, width: int) -> str:
    return "-" * (width + 1) + ":" if column.numeric else "-" * (width + 2)


def _row(cells: list[str], columns: tuple[Column, ...], widths: list[int]) -> str:
    padded = (
        cell.rjust(width) if column.numeric else cell.ljust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    )
    return f"| {' | '.join(padded)} |"
