"""Starts loops by command line and reads back what they left: log, page, processes."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

SCRIPT = Path(__file__).parents[2] / "harness" / "scripts" / "loop-runner.py"
CONFIG = SCRIPT.parents[1] / "loop-runner.config.yaml"
GUARDS = {
    "max_iter": 5,
    "budget_seconds": 0,
    "no_progress_k": 0,
    "escalate_after_iter": 0,
    "command_seconds": 20,
    "kill_grace_seconds": 0.3,
}


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("loop_runner", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["loop_runner"] = module
    spec.loader.exec_module(module)
    return module


runner: Any = load()


def config_text(**changes: object) -> str:
    guards = GUARDS | {key: value for key, value in changes.items() if key in GUARDS}
    revise = changes.get("revise", "'true'")
    lines = ["guards:", *(f"  {key}: {value}" for key, value in guards.items())]
    lines += [f"state_paths: {changes.get('state_paths', '[]')}"]
    lines += [f"run_log: {{path: {changes.get('log', 'log.json')}}}"]
    lines += [f"reflexion: {{episodic_memory_page: {changes.get('page', 'page.md')}}}"]
    lines += [f"revise: {{command: {revise}, verified: {changes.get('verified', 'false')}}}"]
    return "\n".join(lines) + "\n"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-I", str(SCRIPT), "run", "--config", "config.yaml", *arguments]


def loop(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=folder, capture_output=True, text=True, timeout=30, check=False, errors="replace"
    )


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(*arguments), cwd=folder, stderr=subprocess.DEVNULL)


def replay(folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-I", str(SCRIPT), "replay", "log.json"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=30, check=False)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def log_of(folder: Path) -> dict[str, Any]:
    log: dict[str, Any] = json.loads((folder / "log.json").read_text())
    return log


def wait_for(path: Path) -> None:
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.02)


def odd_seconds(tag: int) -> str:
    """An argument for sleep that no other process of this machine has."""
    return f"600.{os.getpid()}{tag}"


def alive(word: str) -> list[int]:
    """Ids of the processes that have ``word`` among their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if word.encode() in words:
                found.append(int(entry.name))
    return found
