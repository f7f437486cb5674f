"""How each step grows from 720 to 5,120 to 20,480 trials: plan, audit, collection, resume, score, report.

Every step is a command as a user types it, timed as a whole process; answers come from the mock. The last column of
each row is the growth per trial against the smallest size: about 1 means linear. 20,480 trials are `main` with four
replicates.

    python benchmarks/scale.py                  # 720 and 5,120: several minutes on two cores
    python benchmarks/scale.py --sizes 720 5120 20480
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
LEFT_FOR_RESUME = 120


@dataclass(frozen=True, slots=True)
class Timed:
    """One process: wall seconds, CPU seconds with its children, peak resident memory of the process itself in MB."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def timed(*arguments: str, accept: tuple[int, ...] = (0,)) -> Timed:
    """Runs one command to its end; anything but an accepted exit code stops the benchmark."""
    started = time.monotonic()
    process = subprocess.Popen([PYTHON, "-m", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in accept:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}")
    return Timed(time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def preset(folder: Path, trials: int) -> tuple[str, str]:
    """Preset (name or file) and phase of that many trials."""
    if trials == 720:
        return "pilot", "p0"
    main = json.loads((ROOT / "configs" / "main.json").read_text())
    config = main | {"name": f"scale{trials}", "confirmatory": False, "replicates": trials // 5120}
    path = folder / f"scale{trials}.json"
    path.write_text(json.dumps(config))
    return str(path), "p1"


def measure(folder: Path, trials: int) -> dict[str, Timed]:
    """Each step at that size, in the order a user takes them."""
    name, phase = preset(folder, trials)
    run = str(folder / f"run{trials}")
    evals = ("pytest", "evals", "-q", "--run", run)
    steps = {
        "plan": timed("bench", "plan", "--preset", name, "--phase", phase, "--out", run),
        "audit": timed("bench", "audit", "--run", run),
        "collect": timed(*evals, "--collect-only"),
    }
    calls = f"--max-generation-calls={trials - LEFT_FOR_RESUME}"
    steps["run all but 120 (mock, -n 4)"] = timed(*evals, "--mock=planted", "-n", "4", calls, accept=(6,))
    steps["resume the last 120 (mock, -n 4)"] = timed(*evals, "--mock=planted", "-n", "4", accept=(0, 1))
    steps["nothing left to do"] = timed(*evals, "--mock=planted", accept=(0, 1))
    steps["score"] = timed("bench", "score", "--run", run)
    steps["report"] = timed("bench", "report", "--run", run)
    return steps


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", choices=(720, 5120, 20480), default=[720, 5120])
    options = parser.parse_args()
    smallest = min(options.sizes)
    first: dict[str, Timed] = {}
    print("| trials | step | wall s | CPU s | peak MB | CPU per trial against the smallest |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for trials in sorted(options.sizes):
            for step, took in measure(Path(name), trials).items():
                base = first.setdefault(step, took)
                growth = (took.cpu_s / trials) / (base.cpu_s / smallest)
                row = f"{took.wall_s:.1f} | {took.cpu_s:.1f} | {took.peak_mb:.0f} | {growth:.2f}"
                print(f"| {trials:,} | {step} | {row} |", flush=True)


if __name__ == "__main__":
    main()
