#!/usr/bin/env python3
"""Runs an edit-and-check loop that cannot run away.

PROPOSE -> VERIFY (a shell command; exit code 0 is a pass) -> GUARDS -> REFLEXION (one lesson line) -> CRITIQUE ->
REVISE (a quarantined shell command) -> again. Exit codes: 0 SUCCESS, 2 MAX_ITER, 3 TIMEOUT, 4 NO_PROGRESS, 5 ESCALATE;
64 usage or configuration, 74 a log that cannot be written, 128 + N stopped by signal N.

Standard library only; PyYAML is imported when a configuration is read. No guard value lives here: they stand in the
configuration file alone. What a model says is never looked at: only VERIFY's exit code and the guards end the loop.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import fnmatch
import hashlib
import json
import math
import os
import re
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

EXIT_CODES = {"SUCCESS": 0, "MAX_ITER": 2, "TIMEOUT": 3, "NO_PROGRESS": 4, "ESCALATE": 5}
USAGE, IO_ERROR = 64, 74
CONTINUE, STOPPED, UNFINISHED = "CONTINUE", "STOPPED", "unfinished"
STOP_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
NOT_STARTED = 126  # what a shell says of a command that it cannot execute
FORMAT = 1  # of the run log
UNREADABLE = bytes(32)  # stands for the digest of a file that is there and cannot be read
TAIL_BYTES = 4000
POLL_S = 0.02
PAGE_LOCK_S = 5.0
REAP_S = 5.0  # for a killed process to be gone; one that the kernel holds, or that runs as another user, may stay
CONFIG_BYTES, CONFIG_DEPTH = 65536, 16
DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,14})([.][0-9]{1,9})?")
# the forms in which a scalar means to YAML what it means to people; YAML also knows 010, 1:30, yes, 2026-12-01, ...
SCALARS = {"int": DECIMAL, "float": DECIMAL, "bool": re.compile("true|false"), "null": re.compile("")}
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
    """Stop signals as a value: handlers only count, so no signal can fall between two steps of the loop."""

    def __init__(self) -> None:
        self.number, self.count = 0, 0

    def __enter__(self) -> Self:
        ignored = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else set()  # nohup
        self.before = {number: signal.signal(number, self.note) for number in STOP_SIGNALS if number not in ignored}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def note(self, number: int, _frame: FrameType | None) -> None:
        """Remembers the first signal and how many came."""
        self.number, self.count = self.number or number, self.count + 1


def printable(words: str) -> str:
    """``words`` as one line that draws nothing on a terminal."""
    return "".join(char if char.isprintable() else "?" for char in words).strip()


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
    """The configuration as plain values; refuses repeated keys, tags, anchors, merges and what is no mapping.

    Refuses numbers and booleans too that YAML reads otherwise than people do.
    """
    try:
        import yaml  # noqa: PLC0415  only a loop with a configuration needs it; selftest and replay do not
    except ImportError:
        raise UsageError(
            f"{path}: reading a configuration needs PyYAML, which this interpreter does not have"
        ) from None
    try:
        with path.open("rb") as stream:
            data = stream.read(CONFIG_BYTES + 1)
        if len(data) > CONFIG_BYTES:
            raise UsageError(f"{path}: larger than {CONFIG_BYTES} bytes; is it a configuration?")
        words = data.decode("utf-8")
        check_tokens(path, words)
        check_nodes(path, yaml.compose(words, Loader=yaml.SafeLoader))
        value = yaml.safe_load(words)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path}: expected a mapping with guards, state_paths, run_log, reflexion, revise")
    return value


def check_tokens(path: Path, words: str) -> None:
    """Refuses tags, anchors and aliases, and nesting that would cost the reader of it hours or its stack."""
    import yaml  # noqa: PLC0415  as in read_yaml

    depth = 0
    for token in yaml.scan(words):
        kind, line = type(token).__name__, token.start_mark.line + 1
        depth += kind.endswith(("SequenceStartToken", "MappingStartToken"))
        depth -= kind.endswith(("SequenceEndToken", "MappingEndToken", "BlockEndToken"))
        if depth > CONFIG_DEPTH:
            raise UsageError(f"{path}: line {line}: nested more than {CONFIG_DEPTH} deep")
        if kind in {"TagToken", "AnchorToken", "AliasToken"}:
            raise UsageError(f"{path}: line {line}: tags, anchors and aliases are not accepted")


def check_nodes(path: Path, node: Any) -> None:
    """Refuses a key written twice in one mapping, for a guard has one value, and a scalar that is not what it seems."""
    import yaml  # noqa: PLC0415  as in read_yaml

    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if str(key.value) in seen:
                raise UsageError(f"{path}: line {key.start_mark.line + 1}: {key.value!r} is written twice; keep one")
            seen.add(str(key.value))
            check_nodes(path, key)
            check_nodes(path, value)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            check_nodes(path, child)
    elif node is not None and node.tag != "tag:yaml.org,2002:str":
        form = SCALARS.get(node.tag.rpartition(":")[2])
        if form is None or not form.fullmatch(node.value):
            line = node.start_mark.line + 1
            raise UsageError(f"{path}: line {line}: {node.value!r}: write plain decimal numbers, true, false or quotes")


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
    """``value`` if it is a number of seconds that a clock can count to, above 0 where ``positive``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise UsageError(f"{name}: expected a number of seconds of at least 0, got {value!r}")
    if positive and value == 0:
        raise UsageError(f"{name}: expected more than 0 seconds; a command without a limit could run for ever")
    return value


def text(value: object, name: str) -> str:
    """``value`` if it is a string that is not blank and that the system can take as a file name or command."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise UsageError(f"{name}: expected a non-empty text, got {value!r}")
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        raise UsageError(f"{name}: expected text that can be encoded, got {value!r}") from None
    return value


def number(words: str) -> float:
    """The number that a flag gives, in the plain decimal digits that the configuration asks for too."""
    if not DECIMAL.fullmatch(words):
        raise argparse.ArgumentTypeError(f"expected a number in plain decimal digits, got {words!r}")
    return float(words) if "." in words else int(words)


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
    """Configuration file plus flags; a flag overrides the file, which has to be in order all the same."""
    path = Path(options.config)
    raw = read_yaml(path)
    check_shape(raw, path)
    make_guards(raw["guards"])
    flags = {name: getattr(options, name) for name in GUARD_FLAGS if getattr(options, name) is not None}
    if not isinstance(raw["state_paths"], list):
        raise UsageError(f"{path}: state_paths: expected a list of globs, got {raw['state_paths']!r}")
    if not isinstance(raw["revise"]["verified"], bool):
        raise UsageError(f"{path}: revise.verified: expected true or false, got {raw['revise']['verified']!r}")
    revise = text(raw["revise"]["command"], "revise.command")
    state_paths = [text(pattern, "state_paths") for pattern in raw["state_paths"]]
    log = text(raw["run_log"]["path"], "run_log.path")
    config = Config(
        guards=make_guards(raw["guards"] | flags),
        verify=text(options.verify, "--verify"),
        revise=revise if options.revise is None else text(options.revise, "--revise"),
        revise_verified=raw["revise"]["verified"],
        state_paths=tuple(text(pattern, "--state") for pattern in options.state or ()) or tuple(state_paths),
        log=log if options.log is None else text(options.log, "--log"),
        page=text(raw["reflexion"]["episodic_memory_page"], "reflexion.episodic_memory_page"),
    )
    check_files(path, Path(config.log), Path(config.page))
    return config


def check_files(config: Path, log: Path, page: Path) -> None:
    """Refuses a log or lesson page that would replace something else, or that no file system can name."""
    try:
        for path in (log, page):
            if path.exists() and not path.is_file():
                raise UsageError(f"{path}: not a regular file; name another")
        if len({os.path.realpath(path) for path in (config, log, page)}) < 3:
            raise UsageError(f"{log}: configuration, run log and lesson page must be three files")
        check_page(page)
    except OSError as error:
        raise UsageError(str(error)) from None


# -- one command, ended with all its children ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ran:
    """One finished command: shell exit code (negative: killed by that signal), seconds, whether a limit cut it off."""

    exit_code: int
    duration_s: float
    cut_off: bool
    tail: str


class Tail:
    """The last ``TAIL_BYTES`` of a pipe, read without ever waiting: no amount of output blocks or fills memory."""

    def __init__(self, pipe: int) -> None:
        os.set_blocking(pipe, False)
        self.pipe, self.kept = pipe, b""

    def take(self) -> bool:
        """Reads a piece of what is there; whether there was any."""
        try:
            chunk = os.read(self.pipe, 65536)
        except BlockingIOError:
            return False
        self.kept = (self.kept + chunk)[-TAIL_BYTES:]
        return bool(chunk)

    def close(self) -> str:
        """What was kept, with what a full pipe can still hold; one who left the group may write on for ever."""
        for _ in range(64):
            if not self.take():
                break
        os.close(self.pipe)
        return self.kept.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds one step: its seconds, the grace between SIGINT and SIGKILL, the signals that stop the loop."""

    seconds: float
    grace_s: float
    stop: StopSignals

    def reached(self, started: float) -> bool:
        """Whether a step that started then has to end now."""
        return self.stop.count > 0 or time.monotonic() - started >= self.seconds


def start_group(command: str, output: int, *, cwd: Path, iteration: int, given: str) -> subprocess.Popen[bytes]:
    """The shell command, started as the leader of a process group of its own; OSError if it cannot be."""
    with tempfile.TemporaryFile() as stdin:
        stdin.write(given.encode("utf-8", "replace"))
        stdin.seek(0)
        return subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=stdin,
            stdout=output,
            stderr=output,
            cwd=cwd,
            start_new_session=True,
            env=os.environ | {"LOOP_RUNNER_ITERATION": str(iteration)},
        )


def end_group(process: subprocess.Popen[bytes], tail: Tail, limits: Limits) -> None:
    """Ends the process and everything in its group: SIGINT, up to ``limits.grace_s`` seconds, SIGKILL.

    A second stop signal cuts the grace short.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left, or nobody we may end
        os.killpg(process.pid, signal.SIGINT)
        end = time.monotonic() + limits.grace_s
        while time.monotonic() < end and limits.stop.count < 2:
            process.poll()
            os.killpg(process.pid, 0)
            if not tail.take():
                time.sleep(POLL_S)
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(REAP_S)


def run_command(command: str, limits: Limits, *, cwd: Path, iteration: int, given: str = "") -> Ran:
    """Runs a shell command in a process group of its own and leaves none of the group behind.

    ``given`` is its standard input. At its limit, or at a stop signal, the group is ended and the command counts as
    cut off. One that cannot be started has failed.
    """
    started = time.monotonic()
    reading, writing = os.pipe()
    tail = Tail(reading)
    try:
        process = start_group(command, writing, cwd=cwd, iteration=iteration, given=given)
    except OSError as error:
        tail.close()
        return Ran(NOT_STARTED, time.monotonic() - started, cut_off=False, tail=f"could not be started: {error}")
    finally:
        os.close(writing)
    while process.poll() is None and not limits.reached(started):
        if not tail.take():
            time.sleep(POLL_S)
    cut_off = process.poll() is None
    end_group(process, tail, limits)
    code = -signal.SIGKILL if process.returncode is None else process.returncode
    return Ran(code, time.monotonic() - started, cut_off, tail.close())


# -- state, verdict, lesson: deterministic -------------------------------------------------------------------------


class UnfinishedError(Exception):
    """Hashing ran into its limit."""


def state_hash(
    patterns: Sequence[str], root: Path, limits: Limits, own: frozenset[tuple[int, int]] = frozenset()
) -> tuple[str, int]:
    """SHA-256 over paths and contents of the regular files that the globs match, and how many there were.

    A file that vanishes meanwhile counts as not there, and so does one of ``own`` (device and inode). At its limit the
    hash is ``UNFINISHED``, which equals itself: what cannot be shown to have changed has not.
    """
    digest, count, started = hashlib.sha256(), 0, time.monotonic()

    def go_on() -> None:
        if limits.reached(started):
            raise UnfinishedError

    try:
        for name in sorted({name for pattern in patterns for name in matched(pattern, root, go_on)}):
            content = file_digest(root / name, own, go_on)
            if content is not None:
                digest.update(os.fsencode(name) + b"\0" + content)
                count += 1
    except UnfinishedError:
        return UNFINISHED, count
    return digest.hexdigest(), count


def matched(pattern: str, root: Path, go_on: Callable[[], None]) -> set[str]:
    """The paths that a glob matches, relative to ``root`` if it is; ``go_on`` raises when there is no more time.

    ``glob`` would do but for two things: its ``**`` goes through symbolic links, so that two links to their own folder
    keep it busy for ever, and nothing can end it.
    """
    todo = [("/" if pattern.startswith("/") else "", tuple(pattern.split("/")))]
    found, seen = set(), set(todo)
    while todo:
        go_on()
        folder, parts = todo.pop()
        for path, rest in one_part(root, folder, parts):
            if not rest:
                found.add(path)
            elif (path, rest) not in seen:
                seen.add((path, rest))
                todo.append((path, rest))
    return found


def one_part(root: Path, folder: str, parts: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The paths that the first of the glob's parts leads to from ``folder``, each with the parts that are left."""
    part, rest = parts[0], parts[1:]
    if not re.search(r"[*?[]", part):
        yield os.path.join(folder, part), rest  # noqa: PTH118  ".." and "//" stay as written
        return
    if part == "**" and rest:
        yield folder, rest
    for name, is_folder in listing(root / folder):
        path = os.path.join(folder, name)  # noqa: PTH118  as above
        if name.startswith(".") and not part.startswith("."):
            continue
        if part == "**":
            if is_folder or not rest:
                yield path, parts if is_folder else rest
        elif fnmatch.fnmatchcase(name, part):
            yield path, rest


def listing(folder: Path) -> list[tuple[str, bool]]:
    """Names in a folder, and whether each is a folder itself and no link to one; empty if it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return []


def file_digest(path: Path, own: frozenset[tuple[int, int]], go_on: Callable[[], None]) -> bytes | None:
    """SHA-256 of a regular file's bytes as it was when opened; a marker if unreadable, None if there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return UNREADABLE
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or (status.st_dev, status.st_ino) in own:
            return None
        digest, left = hashlib.sha256(), status.st_size  # a file that grows while read has an end all the same
        while left > 0 and (chunk := os.read(handle, min(left, 1 << 20))):
            go_on()
            digest.update(chunk)
            left -= len(chunk)
        return digest.digest()
    except OSError:
        return UNREADABLE
    finally:
        os.close(handle)


def judge(guards: Guards, iteration: int, *, passed: bool, elapsed_s: float, hashes: Sequence[str]) -> str | None:
    """The exit that iteration ``iteration`` (from 1) leads to, or None to go on. ``hashes`` is empty without globs."""
    last = hashes[-guards.no_progress_k :] if guards.no_progress_k else ()
    if passed:
        return "SUCCESS"
    if iteration >= guards.max_iter:
        return "MAX_ITER"
    if over_budget(guards, elapsed_s):
        return "TIMEOUT"
    if len(last) == guards.no_progress_k and len(set(last)) == 1:
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
    page = page.replace("\r\n", "\n")
    head, closed, body = page.removeprefix("---\n").partition("\n---\n")
    if not page.startswith("---\n") or not closed:
        return "no front matter between two '---' lines"
    for line in head.split("\n"):
        if line.strip() and not re.match(r"[ #-]|[A-Za-z_][\w-]*:( |$)", line):
            return f"front matter line {line[:60]!r} is no 'key: value'"
    return None if re.search(r"^## Origin[ \t]*$", body, re.MULTILINE) else "no '## Origin' section"


def check_page(path: Path) -> None:
    """Refuses a page that is there but is no lesson page; it is never rewritten."""
    import yaml  # noqa: PLC0415  as in read_yaml

    try:
        page = path.read_text(encoding="utf-8")
        why = broken_page(page) if page else None  # an empty one is filled
        if page and why is None and not isinstance(yaml.safe_load(page.partition("\n---\n")[0]), dict):
            why = "front matter is no mapping"
    except FileNotFoundError:
        return
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
    if why:
        raise UsageError(f"{path}: {why}; mend it or name another reflexion.episodic_memory_page")


def append_lesson(path: Path, lesson: str) -> None:
    """Appends one line under a lock, creating the page on first need. A concurrent loop loses nothing.

    Raises OSError if the page is broken, cannot be written or stays locked for ``PAGE_LOCK_S``; it then is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    with os.fdopen(handle, "r+b", buffering=0) as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{path}: not a regular file")
        lock(handle, time.monotonic() + PAGE_LOCK_S)
        before = stream.read()
        page = before.decode("utf-8", "replace")
        if page and (why := broken_page(page)):
            raise OSError(f"{path}: {why}")
        start = PAGE_HEADER if not page else "" if page.endswith("\n") else "\n"
        line = f"{start}- {lesson}\n".encode()
        written = stream.write(line)
        if written < len(line):
            os.ftruncate(handle, len(before))  # half a header would make every later lesson impossible
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


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
    last = printable(said[-1] if said else "(no output)")
    how = "stopped at its time limit" if ran.cut_off else f"exit {ran.exit_code}"
    now = datetime.now(tz=UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    return f"{now} iteration {iteration}: verify {how}, {verdict}: {last[:200]}"


# -- the loop ------------------------------------------------------------------------------------------------------


def write_log(path: Path, log: dict[str, Any]) -> None:
    """Replaces the run log in one step, so that a killed loop leaves the last whole one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".loop-runner-")
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
            "format": FORMAT,
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
        self.say(f"{reason} (exit {code}) after {len(self.log['iterations'])} iterations; log: {self.config.log}")
        self.write()
        return code

    def write(self) -> None:
        """The log as it stands, to disk."""
        write_log(self.root / self.config.log, self.log)

    def elapsed_s(self) -> float:
        """Seconds since the loop began, on the monotonic clock: a wall clock that jumps changes nothing."""
        return time.monotonic() - self.started

    def limits(self) -> Limits:
        """The limit of one command or of the rest of the budget, whichever is shorter."""
        guards = self.config.guards
        rest = guards.budget_seconds - self.elapsed_s() if guards.budget_seconds else math.inf
        return Limits(min(guards.command_seconds, rest), guards.kill_grace_seconds, self.stop)

    def halted(self) -> str | None:
        """The exit reason if nothing more may be started: a signal came, or the budget is used up."""
        if self.stop.count:
            return STOPPED
        return "TIMEOUT" if over_budget(self.config.guards, self.elapsed_s()) else None

    def iterate(self) -> str | None:
        """One VERIFY and what follows from it: the exit reason, or None after a REVISE."""
        number = len(self.log["iterations"]) + 1
        if halted := self.halted():
            return halted
        ran = run_command(self.config.verify, self.limits(), cwd=self.root, iteration=number)
        if ran.cut_off and self.stop.count:
            return STOPPED  # the VERIFY that a signal cut off says nothing, so it is no iteration
        entry = self.judged(number, ran)
        self.log["iterations"].append(entry)
        self.write()
        self.say(f"iteration {number}: verify exit {ran.exit_code} in {ran.duration_s:.1f} s -> {entry['verdict']}")
        if not entry["passed"]:
            self.reflect(entry)
        if entry["verdict"] != CONTINUE:
            return str(entry["verdict"])
        if halted := self.halted():
            return halted
        revised = run_command(self.config.revise, self.limits(), cwd=self.root, iteration=number, given=ran.tail)
        entry["revise"] = asdict(revised)
        self.write()
        return None

    def own_files(self) -> frozenset[tuple[int, int]]:
        """Device and inode of what the loop itself writes: its log and lessons are no progress."""
        own = set()
        for name in (self.config.log, self.config.page):
            with contextlib.suppress(OSError):
                status = (self.root / name).stat()
                own.add((status.st_dev, status.st_ino))
        return frozenset(own)

    def judged(self, number: int, ran: Ran) -> dict[str, Any]:
        """The log entry of one VERIFY, verdict and lesson included."""
        passed = ran.exit_code == 0 and not ran.cut_off
        digest, files = None, 0
        if self.config.state_paths:
            digest, files = state_hash(self.config.state_paths, self.root, self.limits(), self.own_files())
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
    """Every place where the log's verdicts or exit do not follow from what it recorded; empty if it holds.

    Raises UsageError, or what Python raises for a value of another type, if it is no run log.
    """
    if log["format"] != FORMAT:
        raise UsageError(f"format {log['format']!a}: expected {FORMAT}")
    guards = make_guards(log["config"]["guards"])
    hashed = bool(tuple(log["config"]["state_paths"]))
    wrong: list[str] = []
    hashes: list[str] = []
    reason: str | None = None
    before_s = 0.0
    for number, entry in enumerate(log["iterations"], start=1):
        hashes += [text(entry["state_hash"], "state_hash")] if hashed else []
        passed = entry["verify"]["exit_code"] == 0 and not entry["verify"]["cut_off"]
        elapsed_s = seconds(entry["elapsed_s"], "elapsed_s", positive=False)
        derived = judge(guards, number, passed=passed, elapsed_s=elapsed_s, hashes=hashes) or CONTINUE
        if reason is not None:
            wrong.append(f"iteration {number} stands after the loop had to end with {reason}")
        if entry["iteration"] != number or entry["passed"] is not passed or elapsed_s < before_s:
            wrong.append(f"iteration {number}: number, pass flag or time does not follow from the record")
        if entry["guards"] != asdict(guards) or (entry["state_hash"] is not None) is not hashed:
            wrong.append(f"iteration {number}: guards or state hash do not follow from the configuration")
        if entry["verdict"] != derived:
            wrong.append(f"iteration {number}: log says {entry['verdict']!a}, derived {derived}")
        reason, before_s = reason or (None if derived == CONTINUE else derived), elapsed_s
    return wrong + replay_exit(guards, log["exit"], reason, before_s)


def replay_exit(guards: Guards, ended: dict[str, Any] | None, reason: str | None, before_s: float) -> list[str]:
    """Where the recorded exit does not follow; a log without exit is a loop that was killed."""
    if ended is None:
        return []
    elapsed_s = seconds(ended["elapsed_s"], "exit.elapsed_s", positive=False)
    if reason is None:
        reason = "TIMEOUT" if over_budget(guards, elapsed_s) and ended["reason"] != STOPPED else STOPPED
    codes = [128 + number for number in STOP_SIGNALS] if reason == STOPPED else [EXIT_CODES[reason]]
    if ended["reason"] != reason or ended["code"] not in codes or elapsed_s < before_s:
        return [f"exit: log says {ended['reason']!a} ({ended['code']!a}) after {elapsed_s} s, derived {reason}"]
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
            if stop.count:
                return code
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


class Once(argparse.Action):
    """A flag that is given at most once: of two VERIFYs one would be dropped without a word."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, flag: Any = None
    ) -> None:
        """Stores the value."""
        if getattr(namespace, self.dest) is not self.default:
            parser.error(f"{flag} is given twice")
        setattr(namespace, self.dest, values)


def parser() -> Parser:
    """The command line."""
    top = Parser(prog="loop-runner.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = top.add_subparsers(dest="verb", required=True, parser_class=Parser)
    run = verbs.add_parser("run", allow_abbrev=False, help="loop until VERIFY passes or a guard trips")
    run.register("action", None, Once)
    run.add_argument("--verify", required=True, metavar="CMD", help="shell command; exit code 0 is a pass")
    run.add_argument("--config", default=str(DEFAULT_CONFIG), metavar="FILE", help="YAML; holds the guard values")
    run.add_argument("--revise", metavar="CMD", help="shell command; VERIFY's output tail is its standard input")
    run.add_argument("--state", action="append", metavar="GLOB", help="files whose contents are the state; repeatable")
    run.add_argument("--log", metavar="FILE", help="the run log (JSON)")
    run.add_argument("--max-iter", type=number, metavar="N", help="hard upper bound on iterations, at least 1")
    run.add_argument("--budget-seconds", type=number, metavar="S", help="wall time for the whole loop; 0 = none")
    run.add_argument(
        "--no-progress-k", type=number, metavar="K", help="stop when the last K state hashes are equal; 0 = off"
    )
    run.add_argument("--escalate-after-iter", type=number, metavar="N", help="hand over to a person; 0 = off")
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
        ended = log["exit"]["reason"] if log["exit"] else "no exit: killed, or its log could not be written"
    except (OSError, ValueError, KeyError, TypeError, RecursionError, UsageError) as error:
        raise UsageError(f"{path}: not a run log: {type(error).__name__}: {error}") from None
    report = "\n".join(wrong) or f"holds: {len(log['iterations'])} iterations, {ended}"
    os.write(1, f"{report}\n".encode())  # no buffer, for one that cannot be flushed turns the exit code into 120
    return 1 if wrong else 0


def say(line: str) -> None:
    """One line of progress on standard error, dropped if nobody takes it: no reader may hold up or end the loop."""
    with contextlib.suppress(OSError):
        if select.select([], [2], [], 0)[1]:
            os.write(2, f"loop-runner: {printable(line)[:1000]}\n".encode("utf-8", "replace"))


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    try:
        options = parser().parse_args(arguments)
        if options.verb == "replay":
            return main_replay(Path(options.log))
        config = resolve_config(options) if options.verb == "run" else None
        with StopSignals() as stop:
            return Loop(config, Path.cwd(), stop, say).run() if config else selftest(stop, say)
    except UsageError as refusal:
        say(str(refusal))
        return USAGE
    except OSError as error:
        say(f"stopped: {error}")
        return IO_ERROR
    except KeyboardInterrupt:
        say("interrupted outside the loop")
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
