"""A line now and then that says how the session gets on: outcomes, tokens, requests, time left.

Printed between reports, by the controller alone, so nothing is lost and no thread writes to the terminal. A blinded
run's words are already pooled when they arrive here: `recorded`, or why a trial is missing.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from bench.plugin import outcomes
from bench.run.ledger_records import LedgerDamagedError
from bench.run.watching import LedgerFollower, Progress, Tempo, progress_line
from bench.score.outcome import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from bench.run.clock import Clock

CRASHED = "???"  # what xdist puts in place of the phase when a worker is gone
TERMINAL_S, CALM_S = 10.0, 60.0  # seconds between lines: on a terminal; at -q, or into a file


class ProgressLines:
    """Plugin object of a controller that sends. ``wanted`` trials are to end; ``every_s`` 0 prints nothing."""

    def __init__(self, run_dir: Path, *, wanted: int, every_s: float, clock: Clock) -> None:
        self._follower = LedgerFollower(run_dir)
        self._wanted, self._every_s, self._clock = wanted, every_s, clock
        self._words: Counter[str] = Counter()
        self._tempo = Tempo()
        self._last_s = clock.monotonic()
        self._tempo.seconds_left(ended=0, wanted=wanted, now_s=self._last_s)
        self._reporter: pytest.TerminalReporter | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Find the terminal reporter, where there is one."""
        self._reporter = session.config.pluginmanager.get_plugin("terminalreporter")

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the outcome; print a line if the last one is long enough ago."""
        word = _word(report)
        if word is None:
            return
        self._words[word] += 1
        now_s = self._clock.monotonic()
        if self._every_s and now_s - self._last_s >= self._every_s:
            self._last_s = now_s
            self._print()

    def line(self) -> str:
        """How the session stands."""
        now_s = self._clock.monotonic()
        ended = self._words.total() - self._words[outcomes.PENDING]
        return "locality: " + progress_line(
            Progress(
                wanted=self._wanted,
                ended=ended,
                words=self._words,
                spending=self._follower.look(mono_ms=int(now_s * 1000)),
                seconds_left=self._tempo.seconds_left(ended=ended, wanted=self._wanted, now_s=now_s),
            )
        )

    def _print(self) -> None:
        reporter = self._reporter
        if reporter is None:
            return
        try:
            line = self.line()
        except (LedgerDamagedError, OSError):  # whoever sends will say so; a progress line must not end a session
            return
        reporter.ensure_newline()
        if reporter.config.get_terminal_writer().width_of_current_line:  # letters that workers' reports have left
            reporter.write_line("")
        reporter.write_line(line, cyan=True)


def _word(report: pytest.TestReport) -> str | None:
    """The outcome that a report tells, once per trial; also that of a trial whose worker died."""
    if (found := outcomes.status(report)) is not None:
        return None if found[0] == Outcome.NOT_DISPATCHED else found[0]
    return outcomes.carried(report).get(outcomes.OUTCOME) if report.failed and report.when == CRASHED else None


def seconds_between(config: pytest.Config, *, terminal: bool) -> float:
    """The time between two lines: what ``--progress`` says, else by how much the user wants to see; 0 is never."""
    asked: float | None = config.getoption("progress")
    verbosity = config.get_verbosity()
    if asked is not None:
        return asked
    if verbosity < -1:
        return 0.0
    return TERMINAL_S if terminal and verbosity >= 0 else CALM_S
