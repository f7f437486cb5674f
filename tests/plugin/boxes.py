"""A box: a folder with the project's conftest.py and evals/, in which real pytest sessions run."""

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
INI = "[pytest]\naddopts = --strict-markers --strict-config -p no:anyio\ntestpaths = tests\n"
KEY = "sk-sentinel-5b1f9d02c7"
UNHURRIED = ("--max-rpm=100000", "--max-tpm=100000000")  # the preset's 60 a minute would make tests wait
LIMITS = ("--execute", "--max-http-attempts=200", "--local-token-cap=9000000", *UNHURRIED)
CAPS = (*LIMITS, "--max-generation-calls=60")
TIMEOUT_S = 120


@dataclass(frozen=True)
class Session:
    """A finished session: exit code and all that it printed."""

    code: int
    text: str

    @property
    def counts(self) -> dict[str, int]:
        """Outcome words and their numbers from pytest's last line."""
        last = next(line for line in reversed(self.text.splitlines()) if re.search(r" in [\d.]+s", line))
        return {word: int(number) for number, word in re.findall(r"(\d+) ([a-z_]+)", last.split(" in ")[0])}


@dataclass(frozen=True)
class Box:
    """The folder, and the environment its sessions see."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    def pytest(self, *arguments: str, timeout_s: float = TIMEOUT_S) -> Session:
        """Run pytest to its end."""
        process = self.start(*arguments)
        try:
            text, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
            raise AssertionError(f"the session hangs; so far it printed:\n{text}") from None
        return Session(process.returncode, text)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start pytest in a process group of its own, as a terminal does."""
        environment = {**os.environ, "PYTHONPATH": str(self.root), "COLUMNS": "200", **self.env}
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def plugin(self, name: str, source: str) -> str:
        """Put a plugin beside the conftest; the flag that loads it."""
        (self.root / f"{name}.py").write_text(source)
        return f"-p{name}"

    @property
    def runs(self) -> list[Path]:
        """The run directories made so far."""
        folder = self.root / "runs"
        return sorted(folder.iterdir()) if folder.is_dir() else []

    @property
    def run(self) -> Path:
        """The only run directory."""
        (run,) = self.runs
        return run

    def terminals(self) -> list[Path]:
        """The terminal records of the only run."""
        return sorted(self.run.glob("trials/*/terminal.json"))


def make_box(root: Path, env: dict[str, str] | None = None) -> Box:
    """An empty box in ``root``."""
    shutil.copy(ROOT / "conftest.py", root)
    shutil.copytree(ROOT / "evals", root / "evals", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "pytest.ini").write_text(INI)
    return Box(root, dict(env or {}))
