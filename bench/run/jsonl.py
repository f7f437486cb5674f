"""JSON lines that several processes append to: whole lines in, torn tails set aside.

For ``events.jsonl`` and ``token-counts.jsonl``. The ledger has a stricter writer of its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bench.run.fs import write_all

if TYPE_CHECKING:
    from pathlib import Path

    from bench.run.fs import Fs


class JsonlDamagedError(Exception):
    """A line in the middle of a file is broken; the message names file and line."""


def append_line(fs: Fs, path: Path, line: bytes) -> Path | None:
    """Append one line (newline included) under the file's own lock; the name of a torn tail that was set aside.

    Raises:
        OSError: nothing of the line is left in the file then.
    """
    fd = fs.open_append(path)
    try:
        fs.lock(fd, exclusive=True, wait=True)
        aside, size = _repair(fs, fd, path)
        try:
            write_all(fs, fd, line)
        except OSError:
            fs.truncate(fd, size)
            raise
        return aside
    finally:
        fs.close(fd)  # closing lets the lock go


def repair_tail(fs: Fs, path: Path) -> Path | None:
    """Set a torn last line aside, if there is one; the name it now has."""
    if not path.exists():
        return None
    fd = fs.open_append(path)
    try:
        fs.lock(fd, exclusive=True, wait=True)
        return _repair(fs, fd, path)[0]
    finally:
        fs.close(fd)


def read_lines(path: Path) -> list[dict[str, object]]:
    """The objects of a file, without a torn last line; empty if there is no file.

    Raises:
        JsonlDamagedError: a broken line with a whole one behind it.
    """
    if not path.exists():
        return []
    rows: list[dict[str, object]] = []
    broken: int | None = None
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        row = _row(line)
        if row is None:
            broken = broken or (number if line.strip(b"\0 \r\t") else None)
        elif broken:
            raise JsonlDamagedError(f"{path}, line {broken}: broken, with whole lines behind it")
        else:
            rows.append(row)
    return rows


def free_name(path: Path) -> Path:
    """The first unused ``<file>.torn-<n>``."""
    number = 1
    while (candidate := path.with_name(f"{path.name}.torn-{number}")).exists():
        number += 1
    return candidate


def _row(line: bytes) -> dict[str, object] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):  # the latter: brackets a thousand deep, which nobody here wrote
        return None
    return row if isinstance(row, dict) else None


def _repair(fs: Fs, fd: int, path: Path) -> tuple[Path | None, int]:
    """The name of the torn tail that was cut off, if any, and the size of what is whole."""
    size = path.stat().st_size
    if size == 0 or fs.read_at(fd, 1, size - 1) == b"\n":
        return None, size
    data = fs.read_at(fd, size, 0)
    whole = data.rfind(b"\n") + 1
    aside = free_name(path)
    tail = fs.open_new(aside)
    try:
        write_all(fs, tail, data[whole:])
    finally:
        fs.close(tail)
    fs.truncate(fd, whole)
    return aside, whole
