"""The kill campaign: real sessions on a run, killed at moments drawn from a seed, and the books after each kill.

What is true after a kill is asked of the server's own log and of the files; nothing of the runner's memory is believed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bench.run.records_io import read_run_terminal
from bench.run.status import status
from tests.faults.worlds import FAST, box_for, caps, plan_run, totals_of
from tests.loopback import counted_input_tokens, response_body

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.plan.plan_files import Plan
    from tests.plugin.boxes import Box

Victim = Literal["worker", "controller", "group"]
VICTIMS: tuple[Victim, ...] = ("worker", "controller", "group")
LATENCY_MS = 40
SESSION_S = 900  # only a guard against hanging: on a machine that is busy a session takes minutes
SERVER = Path(__file__).parents[1] / "loopback.py"


@dataclass
class Figures:
    """What a campaign came to. ``lost`` and ``duplicates`` must be 0."""

    seed: int
    trials: int
    kills: Counter[str] = field(default_factory=Counter)
    sessions: int = 0
    sent: int = 0
    ambiguous: int = 0
    sent_again_on_request: int = 0
    duplicates: int = 0
    whole_bodies_at_kills: int = 0
    not_yet_ended: int = 0
    lost: int = 0
    billed_tokens: int = 0
    booked_tokens: int = 0
    cap: int = 0
    overrun: int = 0

    def line(self) -> str:
        """All of it, for the terminal and the docs."""
        kinds = ", ".join(f"{count} {victim}" for victim, count in sorted(self.kills.items()))
        return (
            f"kill campaign, seed {self.seed}: {sum(self.kills.values())} kills ({kinds}) in {self.sessions} sessions over "
            f"{self.trials} trials; {self.sent} generations at the server, {self.ambiguous} trials ambiguous "
            f"({self.sent_again_on_request} of them generated a second time, on request); "
            f"{self.whole_bodies_at_kills} whole answers on disk at kills, {self.not_yet_ended} of them not yet recorded as "
            f"ended; duplicates {self.duplicates}, lost {self.lost}; "
            f"billed {self.billed_tokens} <= booked {self.booked_tokens} tokens, cap overrun {self.overrun}"
        )


@contextlib.contextmanager
def server_process(log: Path) -> Iterator[str]:
    """The base URL of a loopback server in a process of its own, which outlives every session."""
    command = [sys.executable, str(SERVER), "--log", str(log), "--latency-ms", str(LATENCY_MS)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


class Campaign:
    """One run, its server's log, and the sessions on it."""

    def __init__(self, folder: Path, base_url: str, log: Path, *, seeds: int, seed: int) -> None:
        self.box: Box = box_for(folder / "box", base_url)
        self.run_dir = folder / "run"
        self.plan: Plan = plan_run(self.run_dir, base_url, seeds=seeds)
        self.figures = Figures(seed, len(self.plan.schedule))
        self._dice = random.Random(seed)
        self._log = log
        self._output = folder / "output.txt"
        self._trial_of = {row.request_sha256: row.trial_id for row in self.plan.schedule}
        assert len(self._trial_of) == len(self.plan.schedule)
        self.figures.cap = self._step = 30 * 1200  # tokens; raised by as much whenever it stops a session
        self._whole: dict[Path, str] = {}  # bodies that were whole on the disk at a kill

    # the server's side

    def generations(self) -> list[dict]:
        """The generation requests that arrived, in order; each line was written before a byte of its answer left."""
        lines = self._log.read_bytes().split(b"\n")[:-1] if self._log.exists() else []
        rows = [json.loads(line) for line in lines]
        return [row for row in rows if row["kind"] == "generation"]

    def sent_per_trial(self) -> Counter[str]:
        return Counter(self._trial_of[row["sha256"]] for row in self.generations())

    def check_books(self) -> None:
        """At any moment: what the server has billed is within what the ledger holds, and within the cap."""
        billed = sum(row["billed_tokens"] for row in self.generations())  # read first: the ledger may only be ahead
        totals = totals_of(self.run_dir)
        booked = sum(totals.by_window.values()) + totals.unresolved_tokens + totals.in_flight_tokens
        booked += totals.carried_tokens
        assert billed <= booked
        windows = max(1, len(totals.by_window))  # a campaign may run over midnight UTC
        self.figures.overrun = max(self.figures.overrun, billed - self.figures.cap * windows)
        self.figures.overrun = max(self.figures.overrun, 0)
        self.figures.billed_tokens, self.figures.booked_tokens = billed, booked

    # sessions

    def start(self, *flags: str) -> tuple[subprocess.Popen[bytes], int]:
        """A session of four workers in a process group of its own, and how many trials it may begin."""
        calls = self._dice.randint(12, 40)
        limits = caps(calls=calls, attempts=10 * calls, tokens=self.figures.cap)
        command = [sys.executable, "-m", "pytest", "evals", f"--run={self.run_dir}", "-n4", "-q", "--accept-carryover"]
        self.figures.sessions += 1
        with self._output.open("ab") as output:
            process = subprocess.Popen(
                [*command, *limits, *FAST, *flags],
                cwd=self.box.root,
                env={**os.environ, "PYTHONPATH": str(self.box.root), **self.box.env},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return process, calls

    def _end_of(self, process: subprocess.Popen[bytes]) -> int:
        try:
            return process.wait(timeout=SESSION_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise AssertionError(f"a session hangs; it printed\n{self._output.read_text()[-4000:]}") from None

    def finish(self, *flags: str) -> int:
        """A session that nobody kills; its exit code. One that the token cap stopped gets a higher cap the next time."""
        before = len(self.generations())
        process, calls = self.start(*flags)
        code = self._end_of(process)
        assert code in (0, 1, 6), self._output.read_text()[-4000:]
        assert len(self.generations()) - before <= calls
        self.check_books()
        if code == 6:
            self.figures.cap += self._step
        return code

    def kill_some(self, wanted: int) -> None:
        """Sessions that are killed until ``wanted`` kills have been made. A worker's death leaves its session running."""
        while sum(self.figures.kills.values()) < wanted:
            before = len(self.generations())
            process, calls = self.start()
            self._kill_in(process, wanted)
            if self._end_of(process) == 6:
                self.figures.cap += self._step
            _wait_for_group(process.pid)
            assert len(self.generations()) - before <= calls
            self.check_books()
            self._note_whole_bodies()

    def _kill_in(self, process: subprocess.Popen[bytes], wanted: int) -> None:
        while sum(self.figures.kills.values()) < wanted:
            victim = self._dice.choice(VICTIMS)
            more, delay_s = self._dice.randint(1, 8), self._dice.uniform(0, 2.5 * LATENCY_MS / 1000)
            target = len(self.generations()) + more
            while len(self.generations()) < target and process.poll() is None:
                time.sleep(0.005)
            time.sleep(delay_s)
            if process.poll() is not None:
                return
            self._kill(victim, process)
            self.check_books()
            if victim != "worker":
                return

    def _kill(self, victim: Victim, process: subprocess.Popen[bytes]) -> None:
        self.figures.kills[victim] += 1
        match victim:
            case "group":
                os.killpg(process.pid, signal.SIGKILL)
            case "controller":
                process.kill()
            case "worker":
                workers = sorted(each.pid for each in _processes() if each.parent == process.pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._dice.choice(workers or [process.pid]), signal.SIGKILL)

    # what was kept

    def _bodies(self) -> dict[Path, str]:
        found = self.run_dir.glob("trials/*/attempt-*-body.txt")
        return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}

    def _note_whole_bodies(self) -> None:
        new = {path: digest for path, digest in self._bodies().items() if path not in self._whole}
        self.figures.not_yet_ended += sum(not (path.parent / "terminal.json").exists() for path in new)
        self._whole |= new
        self.figures.whole_bodies_at_kills = len(self._whole)

    def complete(self) -> None:
        """Resume until nothing is pending, then send what is ambiguous again on request; the figures are final then."""
        figures = self.figures
        while self.finish() == 6:
            pass
        standing = status(self.run_dir)
        assert standing.pending == 0
        sent = self.sent_per_trial()
        ambiguous = set(standing.ambiguous)
        figures.ambiguous = len(ambiguous)
        assert {1} >= {sent[trial] for trial in ambiguous}
        for row in self.plan.schedule:
            if row.trial_id not in ambiguous:
                figures.duplicates += sent[row.trial_id] - 1
                assert sent[row.trial_id] >= 1
        while ambiguous and self.finish("--retry-ambiguous") == 6:
            pass
        assert status(self.run_dir).complete
        again = self.sent_per_trial()
        figures.sent_again_on_request = sum(again[trial] == 2 for trial in ambiguous)
        for row in self.plan.schedule:
            figures.duplicates += max(0, again[row.trial_id] - (2 if row.trial_id in ambiguous else 1))
        figures.sent = sum(again.values())
        self._count_lost()

    def _count_lost(self) -> None:
        """Bodies that were whole at a kill and are not the same, or not the trial's answer, now."""
        now = self._bodies()
        for path, digest in self._whole.items():
            terminal = read_run_terminal(self.run_dir, path.parent.name)
            if now.get(path) != digest or terminal is None or terminal.ending != "answered":
                self.figures.lost += 1
        for path in now:
            assert path.read_bytes() == self._as_sent(path)

    def _as_sent(self, path: Path) -> bytes:
        """The bytes that the server sent for a trial's request under the number that is in its body.

        The server numbers an answer before it books it, so numbers need not be places in its log.
        """
        number = int(json.loads(path.read_bytes())["id"].removeprefix("resp_"))
        asked = (path.parent / "request.json").read_bytes()
        assert hashlib.sha256(asked).hexdigest() in {request["sha256"] for request in self.generations()}
        tokens = counted_input_tokens(asked)
        return json.dumps(response_body("4242", model="loopback", input_tokens=tokens, number=number)).encode()


@dataclass(frozen=True)
class _Process:
    """A line of the process table; a dead process that nobody has waited for is not in it."""

    pid: int
    parent: int
    group: int


def _processes() -> list[_Process]:
    """The live processes of this machine."""
    found: list[_Process] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent, group, *_ = (entry / "stat").read_text().rpartition(") ")[2].split()
                if state != "Z":
                    found.append(_Process(int(entry.name), int(parent), int(group)))
    return found


def _wait_for_group(group: int) -> None:
    """Until no process of a group is alive: orphans of a killed controller end by themselves."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if all(process.group != group for process in _processes()):
            return
        time.sleep(0.02)
    raise AssertionError("workers outlive their controller by more than 60 s")
