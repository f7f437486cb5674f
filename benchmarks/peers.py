"""Side by side with what else one could use: Inspect AI, the vendor's SDK, pytest-evals, a plain loop, this harness.

One loopback server, the same prompts (those of the pilot's T1 plan), four in flight, each peer in a virtual
environment of its own that is made in ``--cache``. Printed as Markdown: trials per second, CPU, memory and start-up at
each latency; then what three SIGKILLs at seeded moments cost each tool in requests sent again and answers not kept.

    python benchmarks/peers.py                                # about ten minutes on two idle cores
    python benchmarks/peers.py --seeds-per-cell 1 --latency-ms 0 --skip-kills
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from overhead import Server, plan, server
from peer_tools import PEERS, ROOT, Job, Peer, ThisProject, ThisProjectRetrying, interpreter, versions
from watched import Took, finish, kill_when

from bench.llm.body import generation_body
from bench.plan.plan_files import Plan
from bench.prompt.build import build_request
from bench.score.expected import expected_answers

BASELINE = "plain httpx loop"
KILL_LATENCY_MS = 100.0
KILLS = 3


@dataclass(frozen=True, slots=True)
class Figures:
    """One undisturbed use of a tool."""

    trials: int
    span_s: float
    first_s: float
    took: tuple[Took, ...]

    @property
    def rate(self) -> float:
        """Trials per second between the first and the last request, as the server saw them."""
        return self.trials / self.span_s

    @property
    def wall_s(self) -> float:
        """The whole command or commands, from start to prompt."""
        return sum(each.wall_s for each in self.took)

    @property
    def cpu_ms(self) -> float:
        """CPU of all processes per trial, start-up and scoring included."""
        return 1000 * sum(each.cpu_s for each in self.took) / self.trials

    @property
    def peak_mb(self) -> float:
        """Memory of all processes together, at its highest."""
        return max(each.peak_mb for each in self.took)


@dataclass(frozen=True, slots=True)
class Survived:
    """What the server billed and what the tool has, after the kills and the last resumption."""

    trials: int
    generations: int
    different: int
    answered: int
    kills: int

    @property
    def sent_again(self) -> int:
        """Requests whose very bytes the server had billed before."""
        return self.generations - self.different

    @property
    def not_kept(self) -> int:
        """Billed answers that the tool does not have at the end."""
        return self.generations - self.answered

    @property
    def unanswered(self) -> int:
        """Prompts for which the tool has nothing."""
        return self.trials - self.answered


@dataclass(frozen=True, slots=True)
class Bench:
    """What all uses share."""

    folder: Path
    pythons: dict[str, Path]
    seeds_per_cell: int
    peers: tuple[Peer, ...]

    def job(self, peer: Peer, label: str, at: Server) -> Job:
        """A new job; the run is planned once per endpoint, because a plan is bound to its endpoint."""
        folder = self.folder / f"{label}-{PEERS.index(peer)}"
        folder.mkdir()
        planned = self.folder / f"plan-{at.base_url.rpartition(':')[2].partition('/')[0]}"
        if not planned.exists():
            plan(self.folder, planned.name, at.base_url, "--preset", str(self._preset()), "--phase", "p0")
            write_prompts(planned, self.folder / f"{planned.name}.jsonl")
        return Job(folder, self.folder / f"{planned.name}.jsonl", planned, at.base_url, self.pythons[peer.name])

    def _preset(self) -> Path:
        path = self.folder / "preset.json"
        document = json.loads((ROOT / "configs" / "pilot.json").read_text())
        document["reading"]["seeds_per_cell"] = document["writing"]["seeds_per_cell"] = self.seeds_per_cell
        path.write_text(json.dumps(document))
        return path


def write_prompts(run: Path, path: Path) -> None:
    """The plan's prompts, a line each: id, the body of its generation request, and the right answer."""
    opened = Plan.open(run)
    right = expected_answers(run, opened.schedule)
    rows = [
        {"id": row.trial_id, "request": generation_body(build_request(opened, row)), "target": right[row.trial_id]}
        for row in opened.schedule
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def generations(log: Path) -> list[dict[str, object]]:
    """The generation requests that the server has logged, in order; a line still being written is left out."""
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return [row for line in lines if (row := json.loads(line))["kind"] == "generation"]


def undisturbed(bench: Bench, peer: Peer, at: Server, label: str) -> Figures:
    """Runs a tool to its end.

    Raises:
        RuntimeError: a prompt was not answered, or not by one request.
    """
    if at.log.exists():
        os.truncate(at.log, 0)
    job = bench.job(peer, f"timed-{label}", at)
    took = tuple(finish(program) for program in peer.start(job))
    seen, trials = generations(at.log), len(peer.answered(job))
    expected = len(job.prompts.read_text().splitlines())
    if (trials, len(seen)) != (expected, expected):
        raise RuntimeError(f"{peer.name}: {len(seen)} generations and {trials} answers for {expected} prompts")
    every = [json.loads(line)["at_s"] for line in at.log.read_text().splitlines()]
    return Figures(trials, max(every) - min(every), min(every) - took[0].started, took)


def disturbed(bench: Bench, peer: Peer, at: Server, dice: random.Random) -> tuple[Job, Survived]:
    """Runs a tool, kills it three times after a seeded number of further requests, and lets it finish."""
    job = bench.job(peer, "killed", at)
    trials = len(job.prompts.read_text().splitlines())
    kills = 0
    for number in range(KILLS):
        enough = len(generations(at.log)) + int(trials * dice.uniform(0.1, 0.3))
        program = (peer.resume(job) if number else peer.start(job))[0]
        kills += kill_when(program, lambda enough=enough: len(generations(at.log)) >= enough)
    for program in peer.resume(job):
        finish(program)
    return job, survived(peer, job, at, kills)


def survived(peer: Peer, job: Job, at: Server, kills: int) -> Survived:
    """The account after the last resumption."""
    seen = generations(at.log)
    trials = len(job.prompts.read_text().splitlines())
    return Survived(trials, len(seen), len({row["sha256"] for row in seen}), len(peer.answered(job)), kills)


def print_figures(latency_ms: float, figures: dict[str, Figures]) -> None:
    """One table of absolute figures and ratios to the plain loop."""
    base = figures.get(BASELINE, next(iter(figures.values())))
    trials = next(iter(figures.values())).trials
    print(f"\n{latency_ms:g} ms per request, {trials} trials, 4 in flight:\n")
    print("| tool | trials/s | ratio | whole command (s) | first request after (s) | CPU per trial (ms) | ratio | MB |")
    print("|---|---|---|---|---|---|---|---|")
    for name, one in figures.items():
        cells = [name, f"{one.rate:.1f}", f"{one.rate / base.rate:.2f}", f"{one.wall_s:.1f}", f"{one.first_s:.1f}"]
        cells += [f"{one.cpu_ms:.1f}", f"{one.cpu_ms / base.cpu_ms:.1f}", f"{one.peak_mb:.0f}"]
        print("| " + " | ".join(cells) + " |")
    sys.stdout.flush()


def print_survived(rows: dict[str, Survived]) -> None:
    """One table of what the kills cost."""
    print(
        f"\nThree kills, {KILL_LATENCY_MS:g} ms per request, {next(iter(rows.values())).trials} trials, 4 in flight:\n"
    )
    print("| tool | kills | generations billed | sent again | billed but not kept | prompts without an answer |")
    print("|---|---|---|---|---|---|")
    for name, one in rows.items():
        cells = [one.kills, one.generations, one.sent_again, one.not_kept, one.unanswered]
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |")
    sys.stdout.flush()


def time_all(bench: Bench, latency_ms: float, repeat: int) -> None:
    """Every tool in turn against one server; of several passes the one with the middle rate is shown."""
    passes: dict[str, list[Figures]] = {peer.name: [] for peer in bench.peers}
    for number in range(repeat):
        folder = bench.folder / f"server-{latency_ms:g}-{number}"
        folder.mkdir()
        with server(folder, latency_ms) as at:
            for peer in bench.peers:
                passes[peer.name].append(undisturbed(bench, peer, at, f"{latency_ms:g}-{number}"))
                one = passes[peer.name][-1]
                seen = f"{one.rate:.1f} trials/s, {one.cpu_ms:.1f} ms CPU per trial, {one.peak_mb:.0f} MB"
                print(f"  {latency_ms:g} ms, pass {number + 1}: {peer.name}: {seen}", file=sys.stderr)
    middle = {name: sorted(all_, key=lambda one: one.rate)[len(all_) // 2] for name, all_ in passes.items()}
    print_figures(latency_ms, middle)


def kill_all(bench: Bench, seed: int) -> None:
    """The kills, the same seeded moments for every tool; each gets a server of its own."""
    rows: dict[str, Survived] = {}
    for number, peer in enumerate(bench.peers):
        folder = bench.folder / f"killing-{number}"
        folder.mkdir()
        with server(folder, KILL_LATENCY_MS) as at:
            job, rows[peer.name] = disturbed(bench, peer, at, random.Random(seed))
            if type(peer) is ThisProject:
                retrying = ThisProjectRetrying()
                for program in retrying.start(job):
                    finish(program)
                rows[retrying.name] = survived(retrying, job, at, rows[peer.name].kills)
        print(f"  kills: {peer.name} done", file=sys.stderr)
    print_survived(rows)
    print("\nAfter each kill:\n")
    for peer in bench.peers:
        print(f"- {peer.name}: {peer.after_a_kill}.")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path.home() / ".cache" / "locality-peers"
    parser.add_argument("--cache", type=Path, default=cache, help=f"the peers' virtual environments (default: {cache})")
    parser.add_argument("--latency-ms", type=float, nargs="*", default=[0.0, 200.0])
    parser.add_argument("--repeat", type=int, default=1, help="passes at each latency")
    parser.add_argument("--seeds-per-cell", type=int, default=4, help="180 trials per seed; the pilot has 4")
    parser.add_argument("--seed", type=int, default=20261005, help="of the moments of the kills")
    parser.add_argument("--skip-kills", action="store_true")
    parser.add_argument(
        "--only", action="append", metavar="WORD", help="tools whose name has this word; may be repeated"
    )
    options = parser.parse_args()
    peers = tuple(peer for peer in PEERS if any(word in peer.name for word in options.only or [""]))
    options.cache.mkdir(parents=True, exist_ok=True)
    pythons = {peer.name: interpreter(peer, options.cache.resolve()) for peer in peers}
    for peer in peers:
        print(f"- {peer.name}: {versions(peer, pythons[peer.name])}")
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), pythons, options.seeds_per_cell, peers)
        for latency_ms in options.latency_ms:
            time_all(bench, latency_ms, options.repeat)
        if not options.skip_kills:
            kill_all(bench, options.seed)


if __name__ == "__main__":
    main()
