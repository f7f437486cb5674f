"""A planned run, a box to run pytest in, and a server that can play a part for one trial. Nothing here judges."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from bench.audit import audit_run
from bench.plan.plan_files import Plan
from bench.plan.planner import write_plan
from bench.run.states import ledger_state
from bench.run.status import ledger_totals
from bench.score.fingerprint import grader_hash
from tests.loopback import LoopbackServer, Step, reply, response_body
from tests.planned import CREATED_AT, tiny_preset
from tests.plugin.boxes import KEY, Box, make_box

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bench.run.status import LedgerTotals
    from tests.loopback import Received

FAST = ("--max-rpm=1000000", "--max-tpm=1000000000")
PRESET = {"tasks": ["scope_lookup"], "writing": None}


def caps(*, calls: int = 500, attempts: int = 3000, tokens: int = 50_000_000) -> tuple[str, ...]:
    """The flags that let a session send, by default more than any test needs."""
    return (
        "--execute",
        f"--max-generation-calls={calls}",
        f"--max-http-attempts={attempts}",
        f"--local-token-cap={tokens}",
    )


def plan_run(out: Path, base_url: str, *, seeds: int = 1, max_output_tokens: int = 64, **changes: Any) -> Plan:
    """A planned and audited run of lookup trials, 20 for each of ``seeds``, for the server at ``base_url``."""
    model = {"model": "loopback", "base_url": base_url, "max_output_tokens_reading": max_output_tokens}
    reading = {"depths": [2], "fillers": [1], "seeds_per_cell": seeds}
    config = tiny_preset(**{**PRESET, "reading": reading, "model": model, **changes})
    write_plan(config, phase="p0", model=config.model, out=out, grader_hash=grader_hash(), created_at=CREATED_AT)
    assert audit_run(out).passed
    return Plan.open(out)


def box_for(root: Path, base_url: str) -> Box:
    """A box whose sessions have a key for that server."""
    root.mkdir(parents=True, exist_ok=True)
    return make_box(root, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": base_url, "OPENAI_MODEL": "loopback"})


def locality(box: Box, *arguments: object) -> tuple[int, str]:
    """Exit code and output of one command as a user types it, a session included."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", *map(str, arguments)],
        cwd=box.root,
        env={**os.environ, "PYTHONPATH": str(box.root), "COLUMNS": "200", **box.env},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return done.returncode, done.stdout + done.stderr


def totals_of(run_dir: Path) -> LedgerTotals:
    """The ledger's numbers as they stand on the disk."""
    return ledger_totals(ledger_state(run_dir))


class TrialServer(LoopbackServer):
    """Plays steps of its own for chosen requests, one per arrival, then answers plainly. ``plays``: request hash to steps."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.plays: dict[str, list[Step]] = {}

    def assign(self, plan: Plan, parts: Sequence[Sequence[Step]]) -> list[str]:
        """Give part number n to the trial at position n; the trial ids in that order."""
        rows = plan.schedule[: len(parts)]
        assert len(rows) == len(parts)
        self.plays = {row.request_sha256: list(part) for row, part in zip(rows, parts, strict=True)}
        return [row.trial_id for row in rows]

    def _generate(self, request: Received) -> Step:
        part = self.plays.get(hashlib.sha256(request.body).hexdigest())
        if not part:
            return super()._generate(request)
        step = part.pop(0)
        said = _said_usage(step)
        self._book(request, billed=step.billed and said is None)
        with self._lock:
            self.billed_tokens += said or 0
        return step


def _said_usage(step: Step) -> int | None:
    """The tokens that an answer itself names, which are then what is billed for it."""
    try:
        total = json.loads(step.chunks[0].partition(b"\r\n\r\n")[2])["usage"]["total_tokens"]
    except (IndexError, KeyError, TypeError, ValueError):
        return None
    return total if isinstance(total, int) else None


def answer(text: str = "4242", *, headers: Mapping[str, str] | None = None, **changes: Any) -> Step:
    """A whole answer; ``changes`` replace top-level fields of its body."""
    return reply(response_body(text, **changes), headers=headers)
