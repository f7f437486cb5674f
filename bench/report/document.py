"""The report as a value: headings, paragraphs, tables, figures and listings. ``markdown`` and ``html`` write it out.

No numbers are computed here and no markup is known. Every string is plain text: the writers escape all of it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """Text shown as code, for identifiers, commands and everything a model or server wrote."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Text that must not be overlooked."""

    text: str


Inline = str | Code | Strong
Line = tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the report's title, 2 a section."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    parts: Line


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of one-line points."""

    items: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table; numbers stand right."""

    title: str
    numeric: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption above it; ``rows`` are as wide as ``columns``."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing in ``figures/<name>.svg`` with its numbers in ``figures/<name>.csv``."""

    name: str
    caption: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A block of text as it was sent or received, made inert by the writers."""

    caption: str
    text: str


Block = Heading | Paragraph | Bullets | Table | Figure | Listing


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report; ``first_line`` stands before everything else."""

    first_line: str
    blocks: tuple[Block, ...]


def say(*parts: Inline) -> Paragraph:
    """A paragraph of these parts."""
    return Paragraph(parts)
