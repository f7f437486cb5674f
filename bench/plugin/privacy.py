"""What may leave a failing trial item: where it broke, never what it was sending.

pytest shows source lines with the values of arguments and, with ``-l``, of locals; in this project those are prompts,
answers and headers. So the traceback is rendered here, from names and line numbers alone.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import bench

if TYPE_CHECKING:
    import pytest

ROOT = Path(bench.__file__).parent.parent
LONGEST_MESSAGE = 300


def render(error: BaseException) -> str:
    """The chain of exceptions as text: file, line, function and source line of each frame; no value of any variable.

    The message is shown for errors of this project and of the operating system only: they name a trial or a file. Any
    other message may quote a prompt (a validation error does) and is withheld.
    """
    parts = []
    link: BaseException | None = error
    while link is not None:
        frames = traceback.extract_tb(link.__traceback__)
        lines = [f"{_short(frame.filename)}:{frame.lineno}: in {frame.name}\n    {frame.line}" for frame in frames]
        parts.append("\n".join([*lines, headline(link)]))
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "\n\nwhich was raised from:\n\n".join(parts)


def headline(error: BaseException) -> str:
    """The kind of error, and its message where that cannot quote a prompt."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(error, OSError) or kind.__module__.split(".")[0] == "bench":
        return f"{name}: {' '.join(str(error).split())[:LONGEST_MESSAGE]}"
    return f"{name} (message withheld: it may quote a prompt)"


def scrub(report: pytest.TestReport, error: BaseException) -> None:
    """Replace what pytest prepared to print for a failed trial item; captured output and logs go too."""
    report.longrepr = render(error)
    report.sections = []


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
