"""``status --watch``: looks at a run again and again until it is over or the person has seen enough."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from bench.plan.plan_files import Plan
from bench.run.clock import SystemClock
from bench.run.fs import OsFs
from bench.run.locks import is_locked
from bench.run.watching import EndingCounter, LedgerFollower, Progress, Tempo, progress_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench.run.clock import Clock

EVERY_S, PLAIN_EVERY_S = 2.0, 10.0  # seconds between looks: on a terminal; into a file or a pipe
ESCAPE = "\x1b["


@dataclass(slots=True)
class Screen:
    """Where the looks go. A terminal shows the last one only; any other output gets a plain line for each with news."""

    out: TextIO
    terminal: bool
    _shown: list[str] = field(default_factory=list)
    _news: object = None

    @property
    def every_s(self) -> float:
        """Seconds from one look to the next."""
        return EVERY_S if self.terminal else PLAIN_EVERY_S

    def show(self, lines: Sequence[str], *, news: object) -> None:
        """Put these lines in place of the last ones; ``news`` is equal where only time has passed."""
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            back = f"{ESCAPE}{len(self._shown)}F{ESCAPE}J" if self._shown else ""
            self._shown = [line[:width] for line in lines]
            self.out.write(back + "".join(line + "\n" for line in self._shown))
        elif news != self._news:
            self.out.write(" | ".join(lines) + "\n")
        self._news = news
        self.out.flush()


def watch(run_dir: Path, *, screen: Screen | None = None, clock: Clock | None = None) -> int:
    """0 once every planned trial has ended; 1 if the person stops watching before (Ctrl-C).

    Raises:
        PlanError, LedgerDamagedError, RunFileError: a file is missing, changed or broken; the message names it.
    """
    clock = clock or SystemClock()
    screen = screen or Screen(sys.stdout, terminal=sys.stdout.isatty())
    plan = Plan.open(run_dir)
    planned = len(plan.schedule)
    follower, tempo = LedgerFollower(run_dir), Tempo()
    endings = EndingCounter(run_dir, (row.trial_id for row in plan.schedule))
    try:
        while True:
            now_s = clock.monotonic()
            spending = follower.look(mono_ms=int(now_s * 1000))
            words = endings.look(follower.state)
            ended = words.total()
            left = tempo.seconds_left(ended=ended, wanted=planned, now_s=now_s)
            running = is_locked(OsFs(), run_dir)
            standing = f"{run_dir}: {_standing(over=ended == planned, running=running)}"
            look = progress_line(Progress(planned, ended, words, spending, left))
            screen.show([look, standing], news=(words, spending.charged_tokens, standing))
            if ended == planned:
                return 0
            clock.sleep(screen.every_s)
    except KeyboardInterrupt:
        screen.out.write("\n")
        return 1


def _standing(*, over: bool, running: bool) -> str:
    if over:
        return "over"
    return "a session is sending (Ctrl-C ends only this view)" if running else "no session is sending (Ctrl-C to leave)"
