"""Reading ledger bytes: whole lines, and what stands behind the last one.

Pure parsing and a read-only fold, so that ``status`` and the report can look without a lock and without dispatch code.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bench.run.ledger_fold import LedgerState
from bench.run.ledger_records import LedgerDamagedError, decode_line

if TYPE_CHECKING:
    from pathlib import Path

_CHUNK = 1 << 18


def read_state(path: Path) -> LedgerState:
    """The fold of the file as it stands; a torn tail, which a writer may be completing, is left out.

    Raises:
        LedgerDamagedError: a broken line that is not the tail, with file and line number.
    """
    state = LedgerState()
    if not path.exists():
        return state
    pending = b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            pending = fold_lines(state, pending + chunk, path)
    return state


def fold_lines(state: LedgerState, data: bytes, path: Path) -> bytes:
    """Fold every whole line of ``data`` into ``state``; returns the bytes from the first that cannot be read as one.

    Raises:
        LedgerDamagedError: that line is not a torn one, or does not follow from the lines before it.
    """
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        raw = data[start:end]
        try:
            line = decode_line(raw)
        except LedgerDamagedError as error:
            if not is_torn(raw):
                raise _damage(path, state, str(error)) from error
            if not all(is_torn(later) for later in data[end + 1 :].split(b"\n")):
                raise _damage(path, state, "broken, with whole lines behind it") from error
            return data[start:]
        try:
            state.apply(line)
        except LedgerDamagedError as error:
            raise _damage(path, state, str(error)) from error
        start = end + 1
    return data[start:]


def is_torn(raw: bytes) -> bool:
    """Whether a line is what a crash in mid-write leaves: blank, NULs, or the beginning of a line.

    A line that is complete JSON but fails its checksum was changed later: that is damage, and no crash explains it.
    """
    if not raw.strip(b"\0 \r\t"):
        return True
    try:
        json.loads(raw)
    except ValueError:
        return True
    except RecursionError:  # brackets a thousand deep: no beginning of a line that was written here
        return False
    return False


def _damage(path: Path, state: LedgerState, what: str) -> LedgerDamagedError:
    return LedgerDamagedError(f"{path}, line {state.seq + 1}: {what}; nothing is sent from a damaged ledger")
