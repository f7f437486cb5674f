"""The tools that ``peers.py`` compares: how each is installed, started, resumed after a kill, asked what it has kept.

A driver in ``peers/`` runs in its peer's own virtual environment; nothing here imports a peer.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from watched import Program

from bench.run.states import trial_states

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
DRIVERS = Path(__file__).resolve().parent / "peers"
CONCURRENCY = 4
KEY = "sk-loopback-benchmark"
MODEL = "openai/gpt-5.6-terra"


@dataclass(frozen=True, slots=True)
class Job:
    """One use of a tool: an empty folder of its own, the prompts, a planned run for this harness, the endpoint."""

    folder: Path
    prompts: Path
    planned: Path
    base_url: str
    python: Path

    def program(self, *command: str | Path, cwd: Path | None = None, **environment: str) -> Program:
        """A command with the little environment that a peer needs; its home is the job's folder."""
        inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        known = {"HOME": str(self.folder), "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": self.base_url}
        said = self.folder / "said.txt"
        return Program([*map(str, command)], cwd or self.folder, inherited | known | environment, said)


class Peer:
    """A tool. ``packages`` are installed into an environment of their own; none: this project's environment is used."""

    name: str
    packages: Sequence[str] = ()
    after_a_kill: str

    def start(self, job: Job) -> list[Program]:
        """The programs of one use, in order."""
        raise NotImplementedError

    def resume(self, job: Job) -> list[Program]:
        """The programs that go on after a kill, the way the tool documents."""
        return self.start(job)

    def answered(self, job: Job) -> set[str]:
        """The ids of the prompts whose answers the tool has kept."""
        return set(_ids_of_lines(job.folder / "answers.jsonl"))


class InspectAi(Peer):
    """The evaluation framework, by its command line."""

    name, packages = "Inspect AI", ("inspect-ai", "openai")
    after_a_kill = "`inspect eval-retry` on the newest log, which recovers its sample buffer first"

    def start(self, job: Job) -> list[Program]:
        """See `Peer`."""
        shutil.copy(DRIVERS / "inspect_task.py", job.folder)  # Inspect takes paths below its working directory only
        task = ("inspect_task.py", "-T", f"prompts={job.prompts}", "--model", MODEL)
        return [self._inspect(job, "eval", *task, "-M", "responses_api=true")]

    def resume(self, job: Job) -> list[Program]:
        """See `Peer`."""
        return [self._inspect(job, "eval-retry", self._newest(job))]

    def answered(self, job: Job) -> set[str]:
        """See `Peer`."""
        command = [job.python, DRIVERS / "inspect_answers.py", self._newest(job)]
        said = subprocess.run(command, check=True, capture_output=True, text=True, env=job.program().environment)
        return set(said.stdout.split())

    def _inspect(self, job: Job, *arguments: str | Path) -> Program:
        options = ("--log-dir", job.folder / "logs", "--max-connections", str(CONCURRENCY), "--display", "none")
        return job.program(job.python.parent / "inspect", *arguments, *options)

    def _newest(self, job: Job) -> Path:
        logs = (path for path in (job.folder / "logs").glob("*.eval") if not path.stem.endswith("-recovered"))
        return max(logs, key=lambda path: path.stat().st_mtime)


class SdkPool(Peer):
    """The vendor's SDK with the few lines of care that a long run teaches."""

    name, packages = "openai SDK in a thread pool", ("openai",)
    after_a_kill = "run again; the script skips the prompts whose answers have a line in its file"

    def start(self, job: Job) -> list[Program]:
        """See `Peer`."""
        return [job.program(job.python, DRIVERS / "sdk_pool.py", job.prompts, job.folder / "answers.jsonl")]


class PytestEvals(Peer):
    """The plugin under xdist, in the two steps of its guide."""

    name, packages = "pytest-evals", ("pytest-evals", "pytest-xdist", "httpx")
    after_a_kill = "run again; results are written when a session ends, so every case is run again"

    def start(self, job: Job) -> list[Program]:
        """See `Peer`."""
        shutil.copy(DRIVERS / "evals_cases.py", job.folder / "test_reading.py")
        shutil.copy(job.prompts, job.folder / "prompts.jsonl")
        # -m puts the folder on the path, where the controller finds the module that the workers' results name
        pytest = (job.python, "-m", "pytest", "-q", "-p", "no:cacheprovider")
        ask = (*pytest, "--run-eval", "-n", str(CONCURRENCY), "--supress-failed-exit-code")
        return [job.program(*ask), job.program(*pytest, "--run-eval-analysis")]

    def answered(self, job: Job) -> set[str]:
        """See `Peer`."""
        results = job.folder / "test-out" / "eval-results-raw.json"
        if not results.exists():
            return set()
        bags = (case["fixtures"]["eval_bag"] for case in json.loads(results.read_text()).values())
        return {bag["id"] for bag in bags if "prediction" in bag}


class HttpxLoop(Peer):
    """The least that works."""

    name, packages = "plain httpx loop", ("httpx",)
    after_a_kill = "run again; the script writes at its end, so every prompt is asked again"

    def start(self, job: Job) -> list[Program]:
        """See `Peer`."""
        return [job.program(job.python, DRIVERS / "httpx_loop.py", job.prompts, job.folder / "answers.jsonl")]


class ThisProject(Peer):
    """`pytest evals -n 4 --execute` on a planned run, with rate limits out of the way."""

    name = "this project"
    after_a_kill = "the same command again; what was in flight is kept apart as ambiguous and not sent again"
    options: Sequence[str] = ()

    def start(self, job: Job) -> list[Program]:
        """See `Peer`."""
        run = job.folder / "run"
        if not run.exists():
            shutil.copytree(job.planned, run)
        command = [sys.executable, "-m", "pytest", ROOT / "evals", "-q", "-p", "no:cacheprovider", "-n", CONCURRENCY]
        caps = ["--max-generation-calls=100000", "--max-http-attempts=1000000", "--local-token-cap=1000000000"]
        limits = ["--max-rpm=10000000", "--max-tpm=1000000000"]
        program = job.program(*map(str, [*command, "--run", run, "--execute", *caps, *limits, *self.options]), cwd=ROOT)
        return [replace(program, fine=(0, 1))]  # 1: the run has trials without an answer, which are counted later

    def answered(self, job: Job) -> set[str]:
        """See `Peer`."""
        return {trial_id for trial_id, state in trial_states(job.folder / "run").items() if state == "terminal"}


class ThisProjectSoft(ThisProject):
    """The same without a count before each generation, as the peers work."""

    name, options = "this project, --soft-budget", ("--soft-budget",)


class ThisProjectRetrying(ThisProject):
    """Not a peer: the run of `ThisProject` gone on with by a person who accepts paying twice."""

    name, options = "this project, then --retry-ambiguous", ("--retry-ambiguous",)


PEERS: tuple[Peer, ...] = (InspectAi(), SdkPool(), PytestEvals(), HttpxLoop(), ThisProject(), ThisProjectSoft())


def interpreter(peer: Peer, cache: Path) -> Path:
    """The Python of the peer's environment, which is made in ``cache`` unless it is there."""
    if not peer.packages:
        return Path(sys.executable)
    folder = cache / peer.packages[0]
    ready = folder / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "-q", *peer.packages], check=True)
        ready.touch()
    return folder / "bin" / "python"


def versions(peer: Peer, python: Path) -> str:
    """The installed versions of the peer's packages, as text; for this project its own."""
    names = peer.packages or ("syntax-locality-icl",)
    code = "import sys,importlib.metadata as m; print(', '.join(f'{n} {m.version(n)}' for n in sys.argv[1:]))"
    return subprocess.run([python, "-c", code, *names], check=True, capture_output=True, text=True).stdout.strip()


def _ids_of_lines(path: Path) -> Iterator[str]:
    if path.exists():
        yield from (json.loads(line)["id"] for line in path.read_text().splitlines() if line.endswith("}"))
