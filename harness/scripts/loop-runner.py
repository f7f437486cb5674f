#!/usr/bin/env python3
"""Runs an edit-and-check loop that cannot run away.

PROPOSE -> VERIFY (a shell command; exit code 0 is a pass) -> GUARDS -> REFLEXION (one lesson line) -> CRITIQUE ->
REVISE (a quarantined shell command) -> again. Exit codes: 0 SUCCESS, 2 MAX_ITER, 3 TIMEOUT, 4 NO_PROGRESS, 5 ESCALATE;
64 usage or configuration, 74 a log that cannot be written, 130 or 143 stopped by SIGINT or SIGTERM.

Standard library only; PyYAML is imported when a configuration is read. No guard value lives here: they stand in the
configuration file alone. What a model says is never looked at: only VERIFY's exit code and the guards end the loop.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import glob
import hashlib
import json
import math
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

EXIT_CODES = {"SUCCESS": 0, "MAX_ITER": 2, "TIMEOUT": 3, "NO_PROGRESS": 4, "ESCALATE": 5}
USAGE, IO_ERROR = 64, 74
CONTINUE, STOPPED = "CONTINUE", "STOPPED"
TAIL_BYTES = 4000
POLL_S = 0.02
PAGE_LOCK_S = 5.0
DEFAULT_CONFIG = Path(__file__).resolve().parent.parent / "loop-runner.config.yaml"
GUARD_FLAGS = ("max_iter", "budget_seconds", "no_progress_k", "escalate_after_iter")
SHAPE: dict[str, tuple[str, ...]] = {
    "guards": (*GUARD_FLAGS, "command_seconds", "kill_grace_seconds"),
    "run_log": ("path",),
    "reflexion": ("episodic_memory_page",),
    "revise": ("command", "verified"),
}


class UsageError(Exception):
    """Usage or configuration that is not accepted; nothing has run."""


class StopSignals:
    """SIGINT and SIGTERM as a value: handlers only count, so no signal can fall between two steps of the loop."""

    def __init__(self) -> None:
        self.number, self.count = 0, 0

    def __enter__(self) -> Self:
        self.before = {number: signal.signal(number, self.note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def note(self, number: int, _frame: FrameType | None) -> None:
        """Remembers the first signal and how many came."""
        self.number, self.count = self.number or number, self.count + 1


# -- configuration -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guards:
    """When to stop. Counts of iterations, seconds of monotonic time; 0 switches off where the name allows it."""

    max_iter: int
    budget_seconds: float
    no_progress_k: int
    escalate_after_iter: int
    command_seconds: float
    kill_grace_seconds: float


@dataclass(frozen=True, slots=True)
class Config:
    """Everything a loop is told, resolved: configuration file first, then flags."""

    guards: Guards
    verify: str
    revise: str
    revise_verified: bool
    state_paths: tuple[str, ...]
    log: str
    page: str


def read_yaml(path: Path) -> dict[str, Any]:
    """The configuration as plain values; refuses duplicate keys, tags, anchors and anything that is no mapping."""
    import yaml  # noqa: PLC0415  only a loop with a configuration needs it; selftest and replay do not

    try:
        text = path.read_text(encoding="utf-8")
        for token in yaml.scan(text):
            if isinstance(token, (yaml.TagToken, yaml.AnchorToken, yaml.AliasToken)):
                raise UsageError(
                    f"{path}: line {token.start_mark.line + 1}: tags, anchors and aliases are not accepted"
                )
        refuse_duplicates(path, yaml.compose(text, Loader=yaml.SafeLoader))
        value = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())[:300]}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path}: expected a mapping with guards, state_paths, run_log, reflexion, revise")
    return value


def refuse_duplicates(path: Path, node: Any) -> None:
    """Refuses a key written twice in one mapping: a guard has one value."""
    import yaml  # noqa: PLC0415  as in read_yaml

    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if str(key.value) in seen:
                raise UsageError(f"{path}: line {key.start_mark.line + 1}: {key.value!r} is written twice; keep one")
            seen.add(str(key.value))
            refuse_duplicates(path, value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            refuse_duplicates(path, value)


def check_shape(raw: dict[str, Any], path: Path) -> None:
    """Refuses unknown and missing keys, by name."""
    expected = {*SHAPE, "state_paths"}
    for where, keys, allowed in [("", raw, expected)] + [(f"{k}.", raw.get(k), set(v)) for k, v in SHAPE.items()]:
        if not isinstance(keys, dict):
            raise UsageError(f"{path}: {where.rstrip('.')}: expected a mapping, got {keys!r}")
        for key in sorted(map(str, keys.keys() - allowed)):
            raise UsageError(f"{path}: unknown key {where}{key}; expected: {', '.join(sorted(allowed))}")
        for key in sorted(allowed - keys.keys()):
            raise UsageError(f"{path}: missing key {where}{key}")


def whole(value: object, name: str, *, least: int) -> int:
    """``value`` if it is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name}: expected a whole number of at least {least}, got {value!r}")
    return value


def seconds(value: object, name: str, *, positive: bool) -> float:
    """``value`` if it is a finite number of seconds, above 0 where ``positive``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise UsageError(f"{name}: expected a number of seconds of at least 0, got {value!r}")
    if positive and value == 0:
        raise UsageError(f"{name}: expected more than 0 seconds; a command without a limit could run for ever")
    return value


def text(value: object, name: str) -> str:
    """``value`` if it is a string that is not blank."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise UsageError(f"{name}: expected a non-empty text, got {value!r}")
    return value


def make_guards(raw: dict[str, Any]) -> Guards:
    """The guard values, each checked; none has a default."""
    guards = Guards(
        max_iter=whole(raw["max_iter"], "guards.max_iter", least=1),
        budget_seconds=seconds(raw["budget_seconds"], "guards.budget_seconds", positive=False),
        no_progress_k=whole(raw["no_progress_k"], "guards.no_progress_k", least=0),
        escalate_after_iter=whole(raw["escalate_after_iter"], "guards.escalate_after_iter", least=0),
        command_seconds=seconds(raw["command_seconds"], "guards.command_seconds", positive=True),
        kill_grace_seconds=seconds(raw["kill_grace_seconds"], "guards.kill_grace_seconds", positive=False),
    )
    if guards.no_progress_k == 1:
        raise UsageError(
            "guards.no_progress_k: 1 would always stop, for one hash equals itself; use 0 (off) or 2 and more"
        )
    return guards


def resolve_config(options: argparse.Namespace) -> Config:
    """Configuration file plus flags; a flag overrides the file."""
    path = Path(options.config)
    raw = read_yaml(path)
    check_shape(raw, path)
    flags = {name: getattr(options, name) for name in GUARD_FLAGS}
    guards = make_guards(raw["guards"] | {name: value for name, value in flags.items() if value is not None})
    if not isinstance(raw["state_paths"], list):
        raise UsageError(f"{path}: state_paths: expected a list of globs, got {raw['state_paths']!r}")
    if not isinstance(raw["revise"]["verified"], bool):
        raise UsageError(f"{path}: revise.verified: expected true or false, got {raw['revise']['verified']!r}")
    page = text(raw["reflexion"]["episodic_memory_page"], "reflexion.episodic_memory_page")
    check_page(Path(page))
    return Config(
        guards=guards,
        verify=text(options.verify, "--verify"),
        revise=text(raw["revise"]["command"] if options.revise is None else options.revise, "revise.command"),
        revise_verified=raw["revise"]["verified"],
        state_paths=tuple(text(glob_, "state_paths") for glob_ in options.state or raw["state_paths"]),
        log=text(raw["run_log"]["path"] if options.log is None else options.log, "run_log.path"),
        page=page,
    )


# -- one command, ended with all its children ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ran:
    """One finished command: shell exit code (negative: killed by that signal), seconds, whether a limit cut it off."""

    exit_code: int
    duration_s: float
    cut_off: bool
    tail: str


class Tail(threading.Thread):
    """Drains a pipe for ever and keeps its last ``TAIL_BYTES``, so that no amount of output blocks or fills memory."""

    def __init__(self, pipe: int) -> None:
        super().__init__(daemon=True)
        self.pipe, self.kept = pipe, b""
        self.start()

    def run(self) -> None:
        """Reads until the last writer is gone."""
        with os.fdopen(self.pipe, "rb", buffering=0) as stream:
            while chunk := stream.read(65536):
                self.kept = (self.kept + chunk)[-TAIL_BYTES:]

    def text(self) -> str:
        """What was kept. Waits briefly: a process that left the group may hold the pipe for as long as it likes."""
        self.join(timeout=1.0)
        return self.kept.decode("utf-8", "replace")


def group_alive(group: int) -> bool:
    """Whether any process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def end_group(process: subprocess.Popen[bytes], grace_s: float, stop: StopSignals) -> None:
    """Ends the process and everything in its group: SIGINT, up to ``grace_s`` seconds, SIGKILL.

    A further stop signal cuts the grace short.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
        end, signals = time.monotonic() + grace_s, max(stop.count, 1)
        while (process.poll() is None or group_alive(process.pid)) and stop.count <= signals:
            if time.monotonic() >= end:
                break
            time.sleep(POLL_S)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds one command: its seconds, the grace between SIGINT and SIGKILL, the signals that stop the loop."""

    seconds: float
    grace_s: float
    stop: StopSignals


def run_command(command: str, limits: Limits, *, cwd: Path, iteration: int, given: str = "") -> Ran:
    """Runs a shell command in a process group of its own and leaves none of the group behind.

    ``given`` is its standard input. After the limit, or at a stop signal, the group is ended and the command counts as
    cut off.
    """
    started = time.monotonic()
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as stdin:
        stdin.write(given.encode("utf-8", "replace"))
        stdin.seek(0)
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=stdin,
            stdout=writing,
            stderr=writing,
            cwd=cwd,
            start_new_session=True,
            env=os.environ | {"LOOP_RUNNER_ITERATION": str(iteration)},
        )
    os.close(writing)
    tail = Tail(reading)
    while process.poll() is None and not limits.stop.count and time.monotonic() - started < limits.seconds:
        time.sleep(POLL_S)
    cut_off = process.poll() is None
    end_group(process, limits.grace_s, limits.stop)
    return Ran(process.returncode, time.monotonic() - started, cut_off, tail.text())


# -- state, verdict, lesson: deterministic -------------------------------------------------------------------------


def state_hash(patterns: Sequence[str], root: Path) -> tuple[str, int]:
    """SHA-256 over paths and contents of the regular files that the globs match, and how many there were.

    A file that vanishes meanwhile counts as not there. Only regular files are read, so a FIFO cannot block.
    """
    digest, count = hashlib.sha256(), 0
    matched = (glob.glob(pattern, root_dir=root, recursive=True) for pattern in patterns)  # noqa: PTH207  paths relative to root
    for name in sorted({name for names in matched for name in names}):
        content = file_digest(root / name)
        if content is not None:
            digest.update(os.fsencode(name) + b"\0" + content)
            count += 1
    return digest.hexdigest(), count


def file_digest(path: Path) -> bytes | None:
    """SHA-256 of a regular file's bytes as it was when opened; a marker if unreadable, None if there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return b"unreadable" if path.is_file() else None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as stream:
        digest, left = hashlib.sha256(), status.st_size  # a file that grows while read has an end all the same
        while left > 0 and (chunk := stream.read(min(left, 1 << 20))):
            digest.update(chunk)
            left -= len(chunk)
    return digest.digest()


def judge(guards: Guards, iteration: int, *, passed: bool, elapsed_s: float, hashes: Sequence[str]) -> str | None:
    """The exit that iteration ``iteration`` (from 1) leads to, or None to go on. ``hashes`` is empty without globs."""
    last = hashes[-guards.no_progress_k :] if guards.no_progress_k else ()
    if passed:
        return "SUCCESS"
    if iteration >= guards.max_iter:
        return "MAX_ITER"
    if over_budget(guards, elapsed_s):
        return "TIMEOUT"
    if guards.no_progress_k and len(last) == guards.no_progress_k and len(set(last)) == 1:
        return "NO_PROGRESS"
    if guards.escalate_after_iter and iteration >= guards.escalate_after_iter:
        return "ESCALATE"
    return None


def over_budget(guards: Guards, elapsed_s: float) -> bool:
    """Whether the wall-time budget, if there is one, is used up."""
    return guards.budget_seconds > 0 and elapsed_s >= guards.budget_seconds


PAGE_HEADER = """---
title: Episodes of the loop runner
kind: episodic-memory
---

# Episodes

One line per failed iteration.

## Origin

Created and appended to by loop-runner.py; safe to read, prune and commit.

## Lessons

"""


def broken_page(page: str) -> str | None:
    """Why ``page`` is no lesson page, or None: it needs closed front matter of ``key: value`` lines and an Origin."""
    head, closed, body = page.removeprefix("---\n").partition("\n---\n")
    if not page.startswith("---\n") or not closed:
        return "no front matter between two '---' lines"
    for line in head.split("\n"):
        if line.strip() and not re.match(r"[ #-]|[A-Za-z_][\w-]*:( |$)", line):
            return f"front matter line {line[:60]!r} is no 'key: value'"
    return None if "\n## Origin" in "\n" + body else "no '## Origin' section"


def check_page(path: Path) -> None:
    """Refuses a page that is there but is no lesson page; it is never rewritten."""
    if not path.exists():
        return
    try:
        page = path.read_text(encoding="utf-8") if path.is_file() else None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as a lesson page: {error}") from None
    if page is None or (page and broken_page(page)):
        why = broken_page(page) if page else "not a regular file"
        raise UsageError(f"{path}: {why}; mend it or name another reflexion.episodic_memory_page")


def append_lesson(path: Path, lesson: str) -> None:
    """Appends one line under a lock, creating the page on first need. A concurrent loop loses nothing.

    Raises OSError if the page is broken, cannot be written or stays locked for ``PAGE_LOCK_S``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    with os.fdopen(handle, "r+b", buffering=0) as stream:
        lock(handle, time.monotonic() + PAGE_LOCK_S)
        page = stream.read().decode("utf-8", "replace")
        if page and (why := broken_page(page)):
            raise OSError(f"{path}: {why}")
        start = PAGE_HEADER if not page else "" if page.endswith("\n") else "\n"
        stream.write(f"{start}- {lesson}\n".encode())


def lock(handle: int, deadline: float) -> None:
    """Locks the open file exclusively, waiting no longer than ``deadline``: a stuck holder must not hang the loop."""
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(POLL_S)


def lesson_line(iteration: int, ran: Ran, verdict: str) -> str:
    """One printable line: what failed, and the last thing it said."""
    said = [line for line in ran.tail.splitlines() if line.strip()]
    last = "".join(char if char.isprintable() else "?" for char in (said[-1] if said else "(no output)")).strip()
    how = "stopped at its time limit" if ran.cut_off else f"exit {ran.exit_code}"
    now = datetime.now(tz=UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    return f"{now} iteration {iteration}: verify {how}, {verdict}: {last[:200]}"


# -- the loop ------------------------------------------------------------------------------------------------------


def write_log(path: Path, log: dict[str, Any]) -> None:
    """Replaces the run log in one step, so that a killed loop leaves the last whole one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(log, stream, indent=1)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class Loop:
    """One run of the loop: its log grows by one entry per VERIFY and is on disk after each."""

    def __init__(self, config: Config, root: Path, stop: StopSignals, say: Callable[[str], None]) -> None:
        self.config, self.root, self.stop, self.say = config, root, stop, say
        self.started = time.monotonic()
        self.hashes: list[str] = []
        stuck_off = config.guards.no_progress_k and not config.state_paths
        self.log: dict[str, Any] = {
            "format": 1,
            "started_at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
            "config": asdict(config),
            "notes": ["no_progress_k is off: no state_paths are given"] if stuck_off else [],
            "iterations": [],
            "exit": None,
        }

    def run(self) -> int:
        """The exit code. Each way out of the loop writes the log first."""
        self.write()
        while (reason := self.iterate()) is None:
            pass
        code = EXIT_CODES.get(reason, 128 + self.stop.number)
        self.log["exit"] = {"reason": reason, "code": code, "elapsed_s": self.elapsed_s()}
        self.write()
        self.say(f"{reason} (exit {code}) after {len(self.log['iterations'])} iterations; log: {self.config.log}")
        return code

    def write(self) -> None:
        """The log as it stands, to disk."""
        write_log(self.root / self.config.log, self.log)

    def elapsed_s(self) -> float:
        """Seconds since the loop began, on the monotonic clock: a wall clock that jumps changes nothing."""
        return time.monotonic() - self.started

    def command(self, command: str, iteration: int, given: str = "") -> Ran:
        """Runs VERIFY or REVISE under its own limit or the rest of the budget, whichever is shorter."""
        guards = self.config.guards
        rest = guards.budget_seconds - self.elapsed_s() if guards.budget_seconds else math.inf
        limits = Limits(min(guards.command_seconds, rest), guards.kill_grace_seconds, self.stop)
        return run_command(command, limits, cwd=self.root, iteration=iteration, given=given)

    def iterate(self) -> str | None:
        """One VERIFY and what follows from it: the exit reason, or None after a REVISE."""
        number = len(self.log["iterations"]) + 1
        if number > 1 and over_budget(self.config.guards, self.elapsed_s()):
            return "TIMEOUT"  # REVISE used the rest of the budget; no VERIFY could run
        ran = self.command(self.config.verify, number)
        if self.stop.count:
            return STOPPED  # the VERIFY that a signal cut off says nothing, so it is no iteration
        entry = self.judged(number, ran)
        self.log["iterations"].append(entry)
        self.write()
        self.say(f"iteration {number}: verify exit {ran.exit_code} in {ran.duration_s:.1f} s -> {entry['verdict']}")
        if not entry["passed"]:
            self.reflect(entry)
        if entry["verdict"] != CONTINUE:
            return str(entry["verdict"])
        entry["revise"] = asdict(self.command(self.config.revise, number, given=ran.tail))
        self.write()
        return STOPPED if self.stop.count else None

    def judged(self, number: int, ran: Ran) -> dict[str, Any]:
        """The log entry of one VERIFY, verdict and lesson included."""
        passed = ran.exit_code == 0 and not ran.cut_off
        digest, files = state_hash(self.config.state_paths, self.root) if self.config.state_paths else (None, 0)
        self.hashes += [digest] if digest is not None else []
        elapsed_s = self.elapsed_s()
        verdict = judge(self.config.guards, number, passed=passed, elapsed_s=elapsed_s, hashes=self.hashes) or CONTINUE
        return {
            "iteration": number,
            "verify": asdict(ran),
            "passed": passed,
            "state_hash": digest,
            "state_files": files,
            "elapsed_s": elapsed_s,
            "guards": asdict(self.config.guards),
            "verdict": verdict,
            "lesson": None if passed else lesson_line(number, ran, verdict),
            "lesson_error": None,
            "revise": None,
        }

    def reflect(self, entry: dict[str, Any]) -> None:
        """Appends the lesson. A page that cannot take it is noted: it must not keep a guard from ending the loop."""
        try:
            append_lesson(self.root / self.config.page, entry["lesson"])
        except OSError as error:
            entry["lesson_error"] = str(error)
            self.say(f"lesson not written: {error}")
            self.write()


# -- replay and selftest -------------------------------------------------------------------------------------------


def replay(log: dict[str, Any]) -> list[str]:
    """Every place where the log's verdicts or exit do not follow from what it recorded; empty if it holds."""
    guards = make_guards(log["config"]["guards"])
    wrong: list[str] = []
    hashes: list[str] = []
    reason: str | None = None
    for number, entry in enumerate(log["iterations"], start=1):
        hashes += [entry["state_hash"]] if entry["state_hash"] is not None else []
        passed = entry["verify"]["exit_code"] == 0 and not entry["verify"]["cut_off"]
        derived = judge(guards, number, passed=passed, elapsed_s=entry["elapsed_s"], hashes=hashes)
        if reason is not None:
            wrong.append(f"iteration {number} stands after the loop had to end with {reason}")
        if entry["iteration"] != number or entry["passed"] is not passed:
            wrong.append(f"iteration {number}: number or pass flag does not follow from the record")
        if entry["verdict"] != (derived or CONTINUE):
            wrong.append(f"iteration {number}: log says {entry['verdict']}, derived {derived or CONTINUE}")
        reason = reason or derived
    return wrong + replay_exit(guards, log["exit"], reason)


def replay_exit(guards: Guards, ended: dict[str, Any] | None, reason: str | None) -> list[str]:
    """Where the recorded exit does not follow; a log without exit is a loop that was killed."""
    if ended is None or ended["reason"] == STOPPED:
        return [] if reason is None else [f"exit: the loop had to end with {reason}"]
    if reason is None and over_budget(guards, ended["elapsed_s"]):
        reason = "TIMEOUT"
    if ended["reason"] != reason or ended["code"] != EXIT_CODES.get(ended["reason"]):
        return [f"exit: log says {ended['reason']} ({ended['code']}), derived {reason}"]
    return []


def selftest(stop: StopSignals, say: Callable[[str], None]) -> int:
    """0 if the five exits and the lesson page come out as they must. Works in a temporary folder only."""
    rows = (  # max_iter, budget, no_progress_k, escalate; verify; revise; expected exit; failed iterations
        (5, 0, 0, 0, "test -f fixed", "touch fixed", "SUCCESS", 1),
        (3, 0, 0, 0, "false", "echo all done", "MAX_ITER", 3),
        (9, 0.5, 0, 0, "sleep 60", "true", "TIMEOUT", 1),
        (9, 0, 2, 0, "false", "true", "NO_PROGRESS", 2),
        (9, 0, 0, 2, "false", "true", "ESCALATE", 2),
    )
    bad = 0
    for most, budget, stuck, hand_over, verify, revise, expected, failed in rows:
        with tempfile.TemporaryDirectory(prefix="loop-runner-selftest-") as folder:
            root = Path(folder)
            (root / "state.txt").write_text("the same\n")
            guards = Guards(most, budget, stuck, hand_over, 30, 0)
            config = Config(guards, verify, revise, False, ("state.txt",), "run.json", "episodes.md")
            code = Loop(config, root, stop, lambda _: None).run()
            page = (root / "episodes.md").read_text()
            differs = replay(json.loads((root / "run.json").read_text()))
        good = code == EXIT_CODES[expected] and page.count("\n- ") == failed and not broken_page(page) and not differs
        say(f"{'ok  ' if good else 'FAIL'} {expected}: exit {code}, {failed} lessons")
        bad += not good
    return 1 if bad else 0


# -- command line --------------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """Usage errors exit 64: argparse's own 2 would read as MAX_ITER."""

    def error(self, message: str) -> NoReturn:
        """One line and exit 64."""
        raise UsageError(f"{message}; see {self.prog} --help")


def parser() -> Parser:
    """The command line."""
    top = Parser(prog="loop-runner.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = top.add_subparsers(dest="verb", required=True, parser_class=Parser)
    run = verbs.add_parser("run", allow_abbrev=False, help="loop until VERIFY passes or a guard trips")
    run.add_argument("--verify", required=True, metavar="CMD", help="shell command; exit code 0 is a pass")
    run.add_argument("--config", default=str(DEFAULT_CONFIG), metavar="FILE", help="YAML; holds the guard values")
    run.add_argument("--revise", metavar="CMD", help="shell command; VERIFY's output tail is its standard input")
    run.add_argument("--state", action="append", metavar="GLOB", help="files whose contents are the state; repeatable")
    run.add_argument("--log", metavar="FILE", help="the run log (JSON)")
    run.add_argument("--max-iter", type=int, metavar="N", help="hard upper bound on iterations, at least 1")
    run.add_argument("--budget-seconds", type=float, metavar="S", help="wall time for the whole loop; 0 = none")
    run.add_argument(
        "--no-progress-k", type=int, metavar="K", help="stop when the last K state hashes are equal; 0 = off"
    )
    run.add_argument("--escalate-after-iter", type=int, metavar="N", help="hand over to a person; 0 = off")
    again = verbs.add_parser(
        "replay", allow_abbrev=False, help="re-derive verdicts and exit from a run log; 1 if they differ"
    )
    again.add_argument("log", metavar="LOG")
    verbs.add_parser(
        "selftest", allow_abbrev=False, help="five guard scenarios and the lesson page, in a temporary folder"
    )
    return top


def main_replay(path: Path) -> int:
    """Prints what differs; 0 if nothing does."""
    try:
        log = json.loads(path.read_text(encoding="utf-8"))
        wrong = replay(log)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: not a run log: {type(error).__name__}: {str(error)[:200]}") from None
    ended = log["exit"]["reason"] if log["exit"] else "killed before an exit was written"
    print("\n".join(wrong) or f"holds: {len(log['iterations'])} iterations, {ended}")
    return 1 if wrong else 0


def say(line: str) -> None:
    """One line of progress on standard error."""
    print(f"loop-runner: {line}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    try:
        options = parser().parse_args(arguments)
        if options.verb == "replay":
            return main_replay(Path(options.log))
        with StopSignals() as stop:
            if options.verb == "selftest":
                return selftest(stop, say)
            return Loop(resolve_config(options), Path.cwd(), stop, say).run()
    except UsageError as refusal:
        say(str(refusal))
        return USAGE
    except OSError as error:
        say(f"stopped: {error}")
        return IO_ERROR


if __name__ == "__main__":
    sys.exit(main())
