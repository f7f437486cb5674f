"""The commands that the documents show, found by Markdown's own rules: fenced ``bash`` blocks and indented blocks.

A block that cannot be executed here says so on the line before it: ``(live; not run here)`` needs a provider or spends
money, ``(long; not run here)`` takes minutes, ``(forms; not run here)`` shows what a command looks like.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"\((live|long|forms); not run here\)")
# the first word of a command; in an indented block every other line is something else (a formula, a diagram, YAML)
PROGRAM = re.compile(
    r"(\.venv/bin/|scripts/|\.ci/)?[\w.-]*\b(locality|pytest|python3?|pip|git|check|run)$|export$|source$"
)
LOCALITY, PYTEST = "locality ", "pytest "


@dataclass(frozen=True, slots=True)
class Block:
    """A block of commands. ``mark`` is None if its commands are to be executed."""

    document: str
    line: int
    mark: str | None
    commands: tuple[str, ...]


def documents() -> list[Path]:
    """Every document of the project; results of runs and the loop runner's card for other tools aside."""
    names = ("README.md", "README.ja.md", "CONTRIBUTING.md", "AGENTS.md", "CLAUDE.md", "CHANGELOG.md")
    return [*(ROOT / name for name in names), *sorted((ROOT / "docs").glob("*.md"))]


def command_blocks(path: Path) -> Iterator[Block]:
    """The blocks of a document that hold commands, in order."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for token in MarkdownIt("commonmark").parse(text):
        if token.type not in ("fence", "code_block") or token.map is None:
            continue
        if token.type == "fence" and token.info.strip() != "bash":
            continue
        commands = tuple(logical_lines(token.content, every=token.type == "fence"))
        if commands:
            yield Block(path.name, token.map[0] + 1, _mark_before(lines, token.map[0]), commands)


def logical_lines(text: str, *, every: bool) -> Iterator[str]:
    """The commands in a block's text, continued lines joined and comments cut; ``every``: each line is one."""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        command = re.sub(r"\s+", " ", re.sub(r"(^|\s+)# .*$", "", line)).strip()
        if command and (every or PROGRAM.match(command.split(" ")[0])):
            yield command


def _mark_before(lines: list[str], start: int) -> str | None:
    """The mark on the nearest line of text above line ``start``, counted from 0."""
    above = next((line for line in reversed(lines[:start]) if line.strip()), "")
    found = MARK.search(above)
    return found[1] if found else None
