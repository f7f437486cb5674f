"""Reading the documents of ``trials/<id>/``. Nothing is written here; nothing of the ledger or the network is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter, ValidationError

from bench.run.records import ATTEMPT_META, COUNT_RECORD, TERMINAL_RECORD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from bench.run.records import AttemptMeta, CountRecord, TerminalRecord

TRIALS = "trials"
TERMINAL = "terminal.json"
COUNT = "token-count.json"
REQUEST = "request.json"
T = TypeVar("T")


class RunFileError(Exception):
    """A document of a run cannot be read; the message names the file and what is wrong."""


def trial_dir(run_dir: Path, trial_id: str) -> Path:
    """The folder of one trial."""
    return run_dir / TRIALS / trial_id


def body_name(number: int) -> str:
    """The file that holds the body of a generation attempt."""
    return f"attempt-{number:03d}-body.txt"


def meta_name(number: int) -> str:
    """The file that describes a generation attempt."""
    return f"attempt-{number:03d}-meta.json"


def read_terminal(folder: Path) -> TerminalRecord | None:
    """The record that ended a trial, or None while it has not ended.

    Raises:
        RunFileError: the file is there and cannot be read.
    """
    return _read(folder / TERMINAL, TERMINAL_RECORD)


def read_run_terminal(run_dir: Path, trial_id: str) -> TerminalRecord | None:
    """`read_terminal` of a trial of a run."""
    return read_terminal(trial_dir(run_dir, trial_id))


def iter_terminals(run_dir: Path, trial_ids: Iterable[str]) -> Iterator[tuple[str, TerminalRecord | None]]:
    """The trials in the order given, each with its terminal record or None."""
    for trial_id in trial_ids:
        yield trial_id, read_run_terminal(run_dir, trial_id)


def read_count(folder: Path) -> CountRecord | None:
    """What the server counted for a trial, or None."""
    return _read(folder / COUNT, COUNT_RECORD)


def read_meta(folder: Path, number: int) -> AttemptMeta | None:
    """The description of an attempt; None if it is missing or was torn by a crash, for it can be rebuilt."""
    try:
        return _read(folder / meta_name(number), ATTEMPT_META)
    except RunFileError:
        return None


def read_body(folder: Path, number: int) -> bytes | None:
    """The stored body of an attempt, or None."""
    try:
        return (folder / body_name(number)).read_bytes()
    except FileNotFoundError:
        return None


def _read(path: Path, adapter: TypeAdapter[T]) -> T | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunFileError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        return adapter.validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise RunFileError(
            f"{path}: {where or 'document'}: {first['msg']}; restore the file from a copy, or move it away: the next "
            "session rebuilds it from the stored answer, and sends the trial again if there is none"
        ) from None
