"""How long the parts of a prompt are, and where its landmarks stand. Counts of text only; tokens are counted elsewhere.

Lines, characters and bytes count from 0 at the start of the user's message. An event's line number in the source is its
number, which is how landmarks are handed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.prompt.episode import TEST_TITLE, source_label

if TYPE_CHECKING:
    from bench.data.terms import Task
    from bench.prompt.episode import PromptParts


@dataclass(frozen=True, slots=True)
class Landmarks:
    """Event numbers: the focus block's opening, the visible binding, the first focus close (if shown), the probe."""

    focus_opener: int
    binding: int
    close_run: int | None
    probe: int


def measure(parts: PromptParts, task: Task, landmarks: Landmarks | None) -> dict[str, object]:
    """Sizes of the four parts and, for prefixes, the place of each landmark as [line, character, byte] (or null)."""
    sizes = {name: _size(getattr(parts, name)) for name in ("instructions", "syntax", "examples", "test")}
    return {"sizes": sizes, "offsets": None if landmarks is None else _offsets(parts, task, landmarks)}


def _size(text: str) -> dict[str, int]:
    return {"lines": len(text.splitlines()), "characters": len(text), "bytes": len(text.encode())}


def _offsets(parts: PromptParts, task: Task, landmarks: Landmarks) -> dict[str, list[int] | None]:
    before = parts.syntax + parts.examples + f"{TEST_TITLE}\n{source_label(task)}\n"
    start = (before.count("\n"), len(before), len(before.encode()))
    lines = parts.test.split("\n")[2:]
    return {
        "focus_opener": _place(start, lines, landmarks.focus_opener),
        "binding": _place(start, lines, landmarks.binding),
        "close_run": None if landmarks.close_run is None else _place(start, lines, landmarks.close_run),
        "probe": _place(start, lines, landmarks.probe),
    }


def _place(start: tuple[int, int, int], lines: list[str], number: int) -> list[int]:
    text = "".join(line + "\n" for line in lines[:number])
    return [start[0] + number, start[1] + len(text), start[2] + len(text.encode())]
