"""Writes a report document as one HTML file that needs nothing else: styles and figures inside, no script, no network.

No wording and no numbers here. All text goes through ``escaping``; a policy in the head forbids scripts and fetches.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, assert_never

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
from bench.report.escaping import html_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_STYLE = """
body { font: 16px/1.55 Georgia, serif; color: #1c1c1c; background: #fff; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
h1, h2, h3, table, figcaption, caption { font-family: system-ui, sans-serif; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #bbb; }
.first { font-family: system-ui, sans-serif; font-weight: 600; background: #fff4d6; border-left: 4px solid #c08a00;
  padding: .5rem .8rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .82rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .2rem .55rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #888; vertical-align: bottom; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
td.n { white-space: nowrap; }
pre { background: #f5f5f2; border: 1px solid #ddd; padding: .6rem; overflow-x: auto; font-size: .82rem; }
code { background: #f5f5f2; overflow-wrap: anywhere; }
figure { margin: 1.5rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption { font-size: .85rem; color: #444; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_SVG_START = re.compile(r"<svg\b")
_SVG_NAMES = re.compile(r'(\bid="|href="#|url\(#)')


def render_html(document: Document, drawings: Mapping[str, str]) -> str:
    """The document as HTML; ``drawings`` holds the SVG text of every figure by name."""
    title = next((block.text for block in document.blocks if isinstance(block, Heading)), "Report")
    body = "\n".join(_block(block, drawings) for block in document.blocks)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<p class="first">{html_text(document.first_line)}</p>\n{body}\n</body>\n</html>\n'
    )


def _block(block: Block, drawings: Mapping[str, str]) -> str:  # one arm for each kind of block
    match block:
        case Heading(level, text):
            return f"<h{level}>{html_text(text)}</h{level}>"
        case Paragraph(parts):
            return f"<p>{_line(parts)}</p>"
        case Bullets(items):
            return "<ul>\n" + "\n".join(f"<li>{_line(item)}</li>" for item in items) + "\n</ul>"
        case Table():
            return _table(block)
        case Figure(name, caption):
            return f"<figure>\n{_inline_svg(name, drawings[name], caption)}\n{_figure_note(name, caption)}\n</figure>"
        case Listing(caption, text):
            return f"<p>{html_text(caption)}</p>\n<pre>{html_text(text)}</pre>"
        case _:
            assert_never(block)


def _figure_note(name: str, caption: str) -> str:
    return f"<figcaption>Figure: {html_text(caption)} Numbers: <code>figures/{name}.csv</code>.</figcaption>"


def _inline_svg(name: str, drawing: str, caption: str) -> str:
    """The ``<svg>`` element alone, its ids prefixed so that two figures on a page do not share any."""
    found = _SVG_START.search(drawing)
    element = drawing[found.start() :].strip() if found else ""
    own = _SVG_NAMES.sub(lambda start: f"{start.group()}{name}-", element)
    return own.replace("<svg", f'<svg role="img" aria-label="{html_text(caption)}"', 1)


def _line(parts: Line) -> str:
    return "".join(_inline(part) for part in parts)


def _inline(part: Inline) -> str:
    match part:
        case Code(text):
            return f"<code>{html_text(text)}</code>"
        case Strong(text):
            return f"<strong>{html_text(text)}</strong>"
        case str():
            return html_text(part)
        case _:
            assert_never(part)


def _table(table: Table) -> str:
    head = "".join(_cell("th", column, html_text(column.title)) for column in table.columns)
    rows = "\n".join(
        "<tr>"
        + "".join(_cell("td", column, _inline(cell)) for column, cell in zip(table.columns, row, strict=True))
        + "</tr>"
        for row in table.rows
    )
    return (
        f'<div class="wide"><table>\n<caption>{html_text(table.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>"
    )


def _cell(tag: str, column: Column, content: str) -> str:
    kind = ' class="n"' if column.numeric else ""
    return f"<{tag}{kind}>{content}</{tag}>"
