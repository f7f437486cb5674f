"""Writes the documents of one run's trials, each in the order and with the flushes that a kill at any point needs.

No decisions. A final name proves wholeness: everything is written under a temporary name first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.plan.run_files import TOKEN_COUNTS_FILE
from bench.run.fs import write_file
from bench.run.jsonl import append_line, read_lines
from bench.run.records import ATTEMPT_META, COUNT_RECORD, TERMINAL_RECORD
from bench.run.records_io import COUNT, REQUEST, TERMINAL, TRIALS, body_name, meta_name, read_terminal, trial_dir

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bench.llm.redact import Redactor
    from bench.run.fs import Fs
    from bench.run.records import AttemptMeta, CountRecord, TerminalRecord


class RunStore:
    """The trial folders of one run directory. ``run`` names the run in attempt keys; ``redactor`` masks."""

    def __init__(self, run_dir: Path, *, run: str, redactor: Redactor, fs: Fs) -> None:
        self.run_dir = run_dir
        self.run = run
        self.redactor = redactor
        self._fs = fs
        self._opened: set[str] = set()

    def open_folders(self, trial_ids: Iterable[str]) -> None:
        """Make the folders of some trials, durably: one flush for all of them."""
        unseen = [trial_id for trial_id in trial_ids if trial_id not in self._opened]
        if not unseen:
            return
        root = self.run_dir / TRIALS
        missing = [folder for folder in (root / trial_id for trial_id in unseen) if not folder.exists()]
        if missing:
            self._fs.mkdir(root)
            for folder in missing:
                self._fs.mkdir(folder)
            self._fs.fsync_dir(root)
        self._opened.update(unseen)

    def save_request(self, trial_id: str, body: bytes) -> None:
        """``request.json``, the exact body; not flushed, for the plan can make it again."""
        self._write(trial_id, REQUEST, body)

    def save_body(self, trial_id: str, number: int, body: bytes) -> None:
        """``attempt-NNN-body.txt``, flushed: the answer that was paid for."""
        self._write(trial_id, body_name(number), body, durable=True)

    def save_meta(self, meta: AttemptMeta) -> None:
        """``attempt-NNN-meta.json``; not flushed, for it can be rebuilt from the body."""
        self._write(meta.trial_id, meta_name(meta.number), ATTEMPT_META.dump_json(meta))

    def save_terminal(self, record: TerminalRecord) -> None:
        """``terminal.json``, flushed with its folder: the trial has ended."""
        self._write(record.trial_id, TERMINAL, TERMINAL_RECORD.dump_json(record), durable=True)
        self._fs.fsync_dir(trial_dir(self.run_dir, record.trial_id))

    def set_terminal_aside(self, trial_id: str) -> None:
        """Keep the record of a series that failed as ``terminal-series-N.json``; the trial is open again."""
        folder = trial_dir(self.run_dir, trial_id)
        old = read_terminal(folder)
        if old is not None:
            self._fs.replace(folder / TERMINAL, folder / f"terminal-series-{old.series}.json")
            self._fs.fsync_dir(folder)

    def save_count(self, record: CountRecord) -> None:
        """``token-count.json`` of the trial and, if the server was asked, a line of the run's cache by request hash."""
        line = COUNT_RECORD.dump_json(record)
        self._write(record.trial_id, COUNT, line)
        if not record.cached:
            append_line(self._fs, self.run_dir / TOKEN_COUNTS_FILE, line + b"\n")

    def terminal(self, trial_id: str) -> TerminalRecord | None:
        """The trial's terminal record, if it has ended."""
        return read_terminal(trial_dir(self.run_dir, trial_id))

    def _write(self, trial_id: str, name: str, data: bytes, *, durable: bool = False) -> None:
        write_file(self._fs, trial_dir(self.run_dir, trial_id) / name, data, durable=durable)


def known_counts(run_dir: Path) -> dict[str, int]:
    """Input tokens by request hash, as counted so far; a torn last line is left out."""
    counts: dict[str, int] = {}
    for row in read_lines(run_dir / TOKEN_COUNTS_FILE):
        key, tokens = row.get("request_sha256"), row.get("input_tokens")
        if isinstance(key, str) and isinstance(tokens, int):
            counts[key] = tokens
    return counts
