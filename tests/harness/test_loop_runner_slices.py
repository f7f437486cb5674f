"""The second documented use for real: a run in bounded slices, to its end and to the end of its money."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.harness.loops import SCRIPT, log_of, replay
from tests.loopback import LoopbackServer

PAGE = SCRIPT.parents[2] / "docs" / "loop-runner.md"
TRIALS, BLOCK = 20, 5  # of the smoke plan, phase p0
NAMES = {"runs/pilot": "run", "harness/out/pilot-slices.json": "log.json", "harness/out/episodes.md": "page.md"}
MOCK = {" --execute": " --mock -n 0", " --max-http-attempts 600": "", " --local-token-cap 1000000": ""}


def documented(changes: dict[str, str]) -> tuple[str, list[str]]:
    """Configuration and arguments that the page shows for this use, with ``changes`` of folder, caps and backend."""
    shown = PAGE.read_text(encoding="utf-8").partition("A long paid run in bounded slices")[2]
    command = re.search(r"loop-runner\.py (run --config slices\.yaml .*?)\n\n", shown, re.DOTALL)
    assert command is not None
    config = re.sub("^    ", "", shown.partition("`slices.yaml`:\n\n")[2], flags=re.MULTILINE)
    words = [config, command[1].replace("\\\n", " ")]
    for old, new in changes.items():
        assert any(old in word for word in words), f"the page no longer shows {old!r}"
        words = [word.replace(old, new) for word in words]
    return words[0], shlex.split(words[1])


@dataclass(frozen=True)
class Slices:
    """A planned and audited smoke run in a folder of its own, and the environment of its loops."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        with (self.folder / "said").open("ab") as said:
            return subprocess.Popen(
                words, cwd=self.folder, env=os.environ | {"PATH": path} | self.env, stdout=said, stderr=said
            )

    def plan(self) -> None:
        for words in ("plan --preset smoke --phase p0 --out run", "audit --run run"):
            assert 0 == self.start("locality", *words.split()).wait(timeout=120)

    def start_loop(self, changes: dict[str, str], *extra: str) -> subprocess.Popen[bytes]:
        config, arguments = documented(NAMES | changes)
        (self.folder / "slices.yaml").write_text(config)
        return self.start(sys.executable, "-I", str(SCRIPT), *arguments, *extra)

    def loop(self, changes: dict[str, str], *extra: str) -> int:
        return self.start_loop(changes, *extra).wait(timeout=300)

    def ended(self) -> int:
        return len(list(self.folder.glob("run/trials/*/terminal.json")))

    def iterations(self) -> list[Any]:
        iterations: list[Any] = log_of(self.folder)["iterations"]
        return iterations


@pytest.fixture
def paid(tmp_path: Path) -> Iterator[tuple[Slices, LoopbackServer]]:
    """Slices against a server that keeps books of its own, takes its time and bills answers of 8,000 tokens."""
    now = datetime.now(tz=UTC)
    if (now.hour, now.minute) >= (23, 50):
        pytest.skip("the day's window of tokens would end meanwhile")
    with LoopbackServer(latency_s=0.2, output_tokens=8000) as server:
        slices = Slices(tmp_path, {"OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": server.base_url})
        slices.plan()
        yield slices, server


def test_the_mock_is_driven_in_slices_to_completion(tmp_path):
    """Two slices, each bounded, then VERIFY says that all have ended: SUCCESS."""
    slices = Slices(tmp_path)
    slices.plan()
    assert (0, TRIALS) == (slices.loop(MOCK | {"calls 200": f"calls {2 * BLOCK}"}), slices.ended())
    assert [0, 2 * BLOCK, TRIALS] == [entry["state_files"] for entry in slices.iterations()]
    assert 0 == replay(tmp_path).returncode


@pytest.mark.slow
def test_a_cap_that_is_used_up_is_no_progress_and_nothing_is_sent_twice(paid):
    """The day's tokens run out: exit 4. A larger cap goes on from there; the server has seen each request once."""
    slices, server = paid
    assert 4 == slices.loop({"1000000": "40000"})
    before = server.generations
    assert 0 < before < TRIALS
    assert [0, before, before] == [entry["state_files"] for entry in slices.iterations()]
    assert (before, 0) == (slices.ended(), slices.loop({}))
    assert [TRIALS] * 3 == [slices.ended(), server.generations, len(server.by_hash)]


@pytest.mark.slow
def test_escalation_hands_over_before_the_next_slice(paid):
    """After one slice a person is asked: exit 5, and what was sent is one slice."""
    slices, server = paid
    code = slices.loop({"calls 200": f"calls {BLOCK}"}, "--escalate-after-iter", "2")
    assert (5, BLOCK, BLOCK) == (code, server.generations, slices.ended())


@pytest.mark.slow
def test_a_loop_stopped_in_the_middle_of_a_slice_cuts_no_paid_request_off(paid):
    """SIGINT while requests are in flight: their answers are kept, and the next loop sends each of the others once."""
    slices, server = paid
    process = slices.start_loop({})
    end = time.monotonic() + 120
    while server.generations < 2:
        assert time.monotonic() < end, (slices.folder / "said").read_text()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert 130 == process.wait(timeout=120)
    assert 0 < server.generations == slices.ended() < TRIALS
    assert 0 == slices.loop({})
    assert [TRIALS] * 3 == [slices.ended(), server.generations, len(server.by_hash)]
