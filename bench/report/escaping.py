"""Text from models, servers and configs, made inert for each place it is shown in: Markdown, HTML, CSV, a terminal.

No layout and no wording here. Every string that reaches a report passes through this file, our own prose included.
"""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass

# Cc control, Cf format (bidi marks, zero width, tags), Cs surrogate, Co private, Cn unassigned, Zl and Zp line and
# paragraph separators, Zs every space that is not U+0020: none of them shows what it does.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_PLAIN = re.compile(r"[\x20-\x7e\n]*\Z")

# What a spreadsheet takes for a formula at the start of a cell, and the full-width forms it folds to them.
_FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")

_MARKDOWN_ACTIVE = re.compile(r"[\\`*\[\]<>|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=#|\w+;)")
_MARKDOWN_LINE_START = re.compile(r"([+-](?=[\s-]|$)|#{1,6}(?=\s|$)|\d{1,9}(?=[.)](?:\s|$)))")
_BACKTICKS = re.compile(r"`+")


def visible(text: str) -> str:
    """``text`` in which every character that acts without being seen is written as ``⟨U+XXXX⟩``; line feeds stay."""
    if _PLAIN.match(text):
        return text
    return "".join(char if char in " \n" else _named(char) for char in text)


def one_line(text: str) -> str:
    """``visible(text)`` on a single line: line feeds are written as ``⏎``."""
    return visible(text).replace("\n", "⏎")


def _named(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩" if unicodedata.category(char) in _HIDDEN_CATEGORIES else char


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of a text that may be huge: ``shown`` is what to print, ``left_out`` how many characters are missing."""

    shown: str
    left_out: int


def excerpt(text: str, *, head: int = 1200, tail: int = 300) -> Excerpt:
    """The first ``head`` and last ``tail`` characters, visible; costs O(head + tail) however long the text is."""
    left_out = len(text) - head - tail
    if left_out <= 0:
        return Excerpt(visible(text), 0)
    gap = f"\n[… {left_out:,} characters left out …]\n"
    return Excerpt(visible(text[:head]) + gap + visible(text[len(text) - tail :]), left_out)


def markdown_text(text: str) -> str:
    """``text`` as Markdown that renders as exactly these words inside a line: no emphasis, link, HTML or table."""
    return _MARKDOWN_ACTIVE.sub(lambda found: "\\" + found.group(), one_line(text))


def markdown_paragraph(line: str) -> str:
    """A line made of the pieces above as a paragraph of its own: no list, heading, rule or indented code."""
    flush = line.lstrip(" ")
    opener = _MARKDOWN_LINE_START.match(flush)
    if opener is None:
        return flush
    mark = opener.group()
    return f"{mark}\\{flush[opener.end() :]}" if mark.isdigit() else f"\\{flush}"


def markdown_code(text: str, *, in_table: bool = False) -> str:
    """``text`` as an inline code span; the fence is longer than any run of backticks inside."""
    line = one_line(text) or " "
    if in_table:  # a table splits its cells before code spans are read
        line = line.replace("|", "\\|")
    fence = "`" * (_longest_backtick_run(line) + 1)
    pad = " " if line.startswith(("`", " ")) or line.endswith(("`", " ")) else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def markdown_block(text: str) -> str:
    """``text`` as a fenced code block; no line of it can close the fence."""
    body = visible(text)
    fence = "`" * max(3, _longest_backtick_run(body) + 1)
    return f"{fence}text\n{body}\n{fence}"


def _longest_backtick_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def html_text(text: str) -> str:
    """``text`` as HTML character data, also safe inside a quoted attribute."""
    return html.escape(visible(text), quote=True)


def csv_cell(value: object) -> str:
    """One CSV cell: numbers as they are, ``None`` empty, text on one line and never the start of a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value)
    guard = "'" if text.lstrip(" ").startswith(_FORMULA_STARTS) else ""
    return guard + one_line(text)


def terminal_text(text: str) -> str:
    """``text`` for a terminal: one line, no escape sequence, no bidi override."""
    return one_line(text)
