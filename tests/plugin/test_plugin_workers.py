"""What a worker carries, what a blinded run shows, and how the second Ctrl-C differs from the first."""

import json
import os
import signal
from pathlib import Path

import pytest

from bench.backends.planning import plan_and_audit
from bench.plan.config import load_preset
from tests.loopback import LoopbackServer
from tests.planned import tiny_preset
from tests.plugin.boxes import CAPS, KEY, Box, make_box
from tests.plugin.test_plugin_live import wait_for

PROBE = """
import gc, json, os, sys
import pytest

@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    if hasattr(session.config, "workerinput"):
        gc.collect()
        resident = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        note("collected", {"items": len(session.items), "bytes": resident})

def pytest_unconfigure(config):  # after the summaries, which some plugins import much for
    if hasattr(config, "workerinput"):
        note("finished", sorted(sys.modules))

def note(kind, value):
    with open(os.path.join(os.environ["PROBE_DIR"], f"{kind}-{os.getpid()}.json"), "w") as file:
        json.dump(value, file)
"""


def probed(box: Box) -> tuple[Box, str]:
    """The box with a plugin that notes what a worker holds."""
    return Box(box.root, {**box.env, "PROBE_DIR": str(box.root)}), box.plugin("probing", PROBE)


def notes(box: Box, kind: str) -> list:
    return [json.loads(path.read_text()) for path in sorted(box.root.glob(f"{kind}-*.json"))]


def test_a_sending_worker_is_lean(tmp_path: Path) -> None:
    """Workers import no pandas, scipy, matplotlib or hypothesis, never open gold, and stay below 60 MB with 20 trials."""
    with LoopbackServer() as server:
        box = make_box(tmp_path, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.base_url})
        box, probe = probed(box)
        session = box.pytest("evals", "-m", "smoke and p0", *CAPS, "-n2", probe)
        assert 0 == session.code, session.text
    for modules in notes(box, "finished"):
        loaded = {name.split(".")[0] for name in modules}
        assert set() == loaded & {"pandas", "scipy", "matplotlib", "numpy", "hypothesis"}
        assert set() == set(modules) & {"bench.data.gold", "bench.score.inputs", "bench.report", "bench.plan.planner"}
    assert [20, 20] == [note["items"] for note in notes(box, "collected")]
    assert all(note["bytes"] < 60_000_000 for note in notes(box, "collected"))


@pytest.mark.slow
def test_thousands_of_items_cost_little(box: Box) -> None:
    """A worker with 5,120 trials is at most 15 MB larger than one with 20."""
    box, probe = probed(box)
    resident = {}
    for name, phase in (("smoke", "p0"), ("main", "p1")):
        preset = load_preset(name)
        plan_and_audit(preset, phase=phase, model=preset.model, out=box.root / name)
        box.pytest("evals", f"--run={name}", "-n1", "-q", probe)
        (note,) = notes(box, "collected")
        resident[note["items"]] = note["bytes"]
        for path in box.root.glob("collected-*.json"):
            path.unlink()
    assert {20, 5120} == set(resident)
    assert resident[5120] - resident[20] <= 15_000_000


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_an_unfinished_confirmatory_run_is_blinded(box: Box, workers: str) -> None:
    """Until its stop rule is met every answer is `recorded`, and nothing is scored or shown by notation."""
    preset = tiny_preset(confirmatory=True, tasks=["scope_lookup"], writing=None, include_before_close=False)
    plan_and_audit(preset, phase="p0", model=preset.model, out=box.root / "tiny")
    part = box.pytest("evals", "--run=tiny", "--mock=planted", workers, "-k", "natural")
    assert (0, {"recorded": 10}) == (part.code, {"recorded": part.counts["recorded"]})
    assert not (box.root / "tiny" / "scores.jsonl").exists()
    summary = part.text.split("= locality =")[1]
    assert "named_end" not in summary
    whole = box.pytest("evals", "--run=tiny", "--mock=planted", workers)
    assert 0 == whole.code
    assert (box.root / "tiny" / "scores.jsonl").exists()


def test_the_second_ctrl_c_interrupts_what_is_in_flight(tmp_path: Path) -> None:
    """Two presses end the session at once; what was in flight stays ambiguous, nothing hangs, the run is not locked."""
    with LoopbackServer(latency_s=20) as server:
        box = make_box(tmp_path, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.base_url})
        process = box.start("evals", "-m", "smoke and p0", *CAPS, "-n0")
        wait_for(lambda: server.received >= 1, process)
        os.killpg(process.pid, signal.SIGINT)
        wait_for(lambda: b"interrupt" in (box.run / "usage-ledger.jsonl").read_bytes(), process)
        os.killpg(process.pid, signal.SIGINT)
        text, _ = process.communicate(timeout=60)
        assert 2 == process.returncode, text
        assert [] == box.terminals()
    dry = box.pytest("evals", "-m", "smoke and p0")
    assert 0 == dry.code
