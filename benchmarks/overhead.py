"""What the harness costs: `pytest evals -n 4` against a bare 4-thread httpx loop that makes the same requests.

Both send one count and one generation per trial of the 720-trial pilot to one loopback server, alternating in one
run, at each latency. Printed: trials per second as ratios to the bare loop, CPU per trial, start-up to the first
request, and the collection of 5,120 items. Absolute seconds are this machine's; only the ratios travel. Run
directories are made in runs/, where real ones are, and deleted at the end; `--dir` puts them on another file system.
Compiled modules are cached, as Python does by itself, also where PYTHONDONTWRITEBYTECODE is set: else each of five
processes compiles the project again, which more than doubled start-up.

    python benchmarks/overhead.py                 # about four minutes on two cores
    python benchmarks/overhead.py --repeat 1 --latency-ms 0
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import httpx

from bench.llm.body import body_bytes, count_body, generation_body
from bench.plan.plan_files import Plan
from bench.prompt.build import build_request

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
CONCURRENCY = 4
KEY = "sk-loopback-benchmark"


@dataclass(frozen=True, slots=True)
class Measured:
    """One pass over all trials: first to last request (s), CPU (s), start to first request (s)."""

    span_s: float
    cpu_s: float
    startup_s: float
    trials: int

    @property
    def rate(self) -> float:
        """Trials per second, between the first and the last request as the server saw them."""
        return self.trials / self.span_s

    @property
    def cpu_ms_per_trial(self) -> float:
        """CPU of the whole process tree, start-up included, per trial."""
        return 1000 * self.cpu_s / self.trials


class Server:
    """The loopback server in a process of its own, with its log."""

    def __init__(self, process: subprocess.Popen[str], log: Path, base_url: str) -> None:
        self.process, self.log, self.base_url = process, log, base_url

    def times(self) -> list[float]:
        """Monotonic times of the requests since the last call."""
        times = [json.loads(line)["at_s"] for line in self.log.read_text().splitlines()]
        os.truncate(self.log, 0)
        return times


@contextmanager
def server(folder: Path, latency_ms: float) -> Iterator[Server]:
    """A running loopback server with that latency per request."""
    log = folder / f"requests-{latency_ms:g}.jsonl"
    command = [sys.executable, str(ROOT / "tests" / "loopback.py"), "--log", str(log), "--latency-ms", str(latency_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(process, log, f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
        finally:
            process.terminate()


def plan(folder: Path, name: str, base_url: str, *arguments: str) -> Path:
    """A planned and audited run directory for that endpoint."""
    out = folder / name
    environment = os.environ | {"OPENAI_BASE_URL": base_url}
    subprocess.run(
        [*LOCALITY, "plan", *arguments, "--out", str(out)], check=True, env=environment, stdout=subprocess.DEVNULL
    )
    subprocess.run([*LOCALITY, "audit", "--run", str(out)], check=True, env=environment, stdout=subprocess.DEVNULL)
    return out


LOCALITY = [sys.executable, "-m", "bench"]


def requests_of(run: Path) -> list[tuple[bytes, bytes]]:
    """Count body and generation body of every trial, in schedule order."""
    opened = Plan.open(run)
    built = [build_request(opened, row) for row in opened.schedule]
    return [(body_bytes(count_body(request)), body_bytes(generation_body(request))) for request in built]


def bare(bodies: list[tuple[bytes, bytes]], at: Server) -> Measured:
    """The peer: four threads, one shared client, a status check, nothing written."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    cpu, started = time.process_time(), time.monotonic()
    with httpx.Client(headers=headers, timeout=60) as client, ThreadPoolExecutor(CONCURRENCY) as pool:

        def trial(bodies_of_trial: tuple[bytes, bytes]) -> None:
            count, generation = bodies_of_trial
            client.post(f"{at.base_url}/responses/input_tokens", content=count).raise_for_status().json()
            client.post(f"{at.base_url}/responses", content=generation).raise_for_status().json()

        list(pool.map(trial, bodies))
    return measured(at.times(), started, time.process_time() - cpu, len(bodies))


def ours(run: Path, at: Server) -> Measured:
    """`pytest evals -n 4 --execute` on that run: ledger, store, fsyncs, score and report included."""
    command = [
        *[
            sys.executable,
            "-m",
            "pytest",
            str(ROOT / "evals"),
            "-q",
            "--run",
            str(run),
            "-n",
            str(CONCURRENCY),
            "--execute",
        ],
        *["--max-generation-calls=100000", "--max-http-attempts=1000000", "--local-token-cap=1000000000"],
        *["--max-rpm=10000000", "--max-tpm=1000000000"],
    ]
    before, started = children_cpu_s(), time.monotonic()
    environment = {**os.environ, "OPENAI_API_KEY": KEY}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(command, cwd=ROOT, check=True, env=environment, stdout=subprocess.DEVNULL)
    trials = len(list(run.glob("trials/*/terminal.json")))
    return measured(at.times(), started, children_cpu_s() - before, trials)


def children_cpu_s() -> float:
    """User and system seconds of all children waited for, and theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(times: list[float], started: float, cpu_s: float, trials: int) -> Measured:
    """From the server's request times; the span runs from the first request to the last."""
    assert len(times) == 2 * trials, f"{trials} trials made {len(times)} requests"
    return Measured(max(times) - min(times), cpu_s, min(times) - started, trials)


def compare(folder: Path, latency_ms: float, repeat: int) -> None:
    """Alternates the two and prints one block of figures."""
    with server(folder, latency_ms) as at:
        planned = plan(folder, f"plan-{latency_ms:g}", at.base_url, "--preset", "pilot", "--phase", "p0")
        bodies = requests_of(planned)
        pairs = []
        for number in range(repeat):
            run = folder / f"run-{latency_ms:g}-{number}"
            shutil.copytree(planned, run)
            pairs.append((bare(bodies, at), ours(run, at)))
            print(f"  {latency_ms:g} ms: pass {number + 1} of {repeat} done", file=sys.stderr)
    peers, mine = zip(*pairs, strict=True)
    ratios = [harness.rate / peer.rate for peer, harness in pairs]
    print(f"\n{latency_ms:g} ms per request, {mine[0].trials} trials, {CONCURRENCY} in flight, {repeat} passes in turn")
    print(f"  throughput, ratio to the bare loop: {median(ratios):.2f}  (all: {', '.join(f'{r:.2f}' for r in ratios)})")
    rates = median([m.rate for m in peers]), median([m.rate for m in mine])
    print(f"  trials per second: bare {rates[0]:.0f}, harness {rates[1]:.0f}")
    cpu = median([m.cpu_ms_per_trial for m in peers]), median([m.cpu_ms_per_trial for m in mine])
    print(f"  CPU per trial: bare {cpu[0]:.1f} ms, harness {cpu[1]:.1f} ms (start-up, score and report included)")
    print(f"  start-up to the first request: {median([m.startup_s for m in mine]):.1f} s")


def collection(folder: Path) -> None:
    """Time and items of a dry collection of the main preset's 5,120 trials at -n 4 (nothing is sent)."""
    run = plan(folder, "main", "https://api.openai.com/v1", "--preset", "main", "--phase", "p1")
    for label, extra in (("-n 0 --collect-only", ["--collect-only"]), ("dry run at -n 4", ["-n", str(CONCURRENCY)])):
        command = [sys.executable, "-m", "pytest", str(ROOT / "evals"), "-q", "--run", str(run), *extra]
        started = time.monotonic()
        subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
        print(f"  collection of 5,120 items, {label}: {time.monotonic() - started:.1f} s")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--repeat", type=int, default=3, help="alternating passes at the lowest latency (1 at the others)"
    )
    parser.add_argument("--latency-ms", type=float, nargs="+", default=[0.0, 200.0])
    parser.add_argument("--dir", type=Path, default=ROOT / "runs", help="where run directories are made (%(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="overhead-", dir=options.dir.resolve()) as name:
        for number, latency_ms in enumerate(options.latency_ms):
            compare(Path(name), latency_ms, options.repeat if number == 0 else 1)
        print()
        collection(Path(name))


if __name__ == "__main__":
    main()
