"""A program run to its end, or killed at a given moment, with what it took: wall, CPU, memory of all its processes.

Linux only (``/proc``). Memory is the sum of proportional set sizes, so pages that processes share count once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SAMPLE_S = 0.2
LIMIT_S = 900


@dataclass(frozen=True, slots=True)
class Took:
    """What a finished program took. ``started`` is a monotonic time that the server's log can be compared with."""

    started: float
    wall_s: float
    cpu_s: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Program:
    """A command, where it runs, the environment that replaces this process's, and the file for what it says.

    ``fine`` are the exit codes of a program that did what it was asked.
    """

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    said: Path
    fine: tuple[int, ...] = (0,)


def finish(program: Program) -> Took:
    """Runs a program to its end.

    Raises:
        RuntimeError: it failed, or was killed because it did not end in time; with the end of what it said.
    """
    started, peak_mb = time.monotonic(), 0.0
    with _open(program) as process:
        try:
            while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
                if time.monotonic() - started > LIMIT_S:
                    os.killpg(process.pid, signal.SIGKILL)
                peak_mb = max(peak_mb, _memory_mb(process.pid))
                time.sleep(SAMPLE_S)
        except BaseException:  # whoever stops this program wants no orphans
            os.killpg(process.pid, signal.SIGKILL)
            raise
        _, status, usage = ended
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in program.fine:
        said = program.said.read_text()[-3000:]
        raise RuntimeError(f"{' '.join(program.command)} ended with {process.returncode}:\n{said}")
    return Took(started, time.monotonic() - started, usage.ru_utime + usage.ru_stime, peak_mb)


def kill_when(program: Program, ready: Callable[[], bool]) -> bool:
    """Kills a program and all its processes with SIGKILL as soon as ``ready``; false if it had ended before."""
    with _open(program) as process:
        while process.poll() is None:
            if ready():
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return True
            time.sleep(0.01)
    return False


def _open(program: Program) -> subprocess.Popen[bytes]:
    with program.said.open("wb") as output:
        return subprocess.Popen(
            program.command,
            cwd=program.folder,
            env=dict(program.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _memory_mb(session: int) -> float:
    return sum(_pss_mb(path) for path in Path("/proc").glob("[0-9]*") if _session_of(path) == session)


def _session_of(process: Path) -> int | None:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except OSError:
        return None  # it has ended


def _pss_mb(process: Path) -> float:
    try:
        lines = (process / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
