"""The loopback server itself: an oracle that others lean on has to be right."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests import loopback
from tests.loopback import LoopbackServer, Step, drop, reply, response_body

ASKED = {"model": "m", "instructions": "abcd", "input": [{"role": "user", "content": "abcdefgh"}]}


@pytest.fixture
def http():
    with httpx.Client(trust_env=False, timeout=10) as client:
        yield client


def test_responses_mode_answers_and_counts_what_it_billed(http):
    """A count costs nothing; a generation books its input and output tokens, and both agree on the input."""
    with LoopbackServer(answer="5916") as server:
        counted = http.post(server.base_url + "/responses/input_tokens", json=ASKED).json()
        answered = http.post(server.base_url + "/responses", json=ASKED).json()
    assert counted == {"object": "response.input_tokens", "input_tokens": 7}
    assert answered["output"][1]["content"][0]["text"] == "5916"
    assert answered["usage"]["total_tokens"] == 12
    assert (server.generations, server.counts, server.billed_tokens) == (1, 1, 12)


def test_a_dropped_generation_is_billed(http):
    """What the client never saw is in the bill all the same, and only that number fails."""
    with LoopbackServer(faults={2: "drop"}) as server:
        http.post(server.base_url + "/responses", json=ASKED)
        with pytest.raises(httpx.RemoteProtocolError):
            http.post(server.base_url + "/responses", json=ASKED)
        http.post(server.base_url + "/responses", json=ASKED)
    assert server.generations == 3
    assert list(server.by_hash.values()) == [3]


def test_a_step_never_asked_for_fails_the_test(http):
    """A script that ran only in part is a failure, not a pass."""
    server = LoopbackServer([reply({}), reply({})]).start()
    http.post(server.base_url + "/responses", json=ASKED)
    with pytest.raises(AssertionError, match="1 steps of the script were never asked for"):
        server.__exit__(None, None, None)


def test_a_request_beyond_the_script_fails_the_test(http):
    """A client that sends more than the script knows is caught."""
    server = LoopbackServer([reply({})]).start()
    for _ in range(2):
        http.post(server.base_url + "/responses", json=ASKED)
    with pytest.raises(AssertionError, match="1 requests found no step"):
        server.__exit__(None, None, None)


def test_the_scripts_own_failure_is_not_hidden_by_a_step_left_over():
    """An error inside the block comes out as itself."""
    with pytest.raises(ZeroDivisionError), LoopbackServer([reply({})]):
        raise ZeroDivisionError


def test_steps_can_look_at_the_request(http):
    """A step may be a function of what was received."""

    def echo(request) -> Step:
        return reply(response_body(request.json()["model"]))

    with LoopbackServer([echo, drop()]) as server:
        answer = http.post(server.base_url + "/responses", json=ASKED).json()
        with pytest.raises(httpx.RemoteProtocolError):
            http.post(server.base_url + "/responses", json=ASKED)
    assert answer["output"][1]["content"][0]["text"] == "m"
    assert server.generations == 1


def test_as_a_process_it_prints_its_port_and_logs_each_request(tmp_path, http):
    """The first line is the port, and the log holds one line per request."""
    log = tmp_path / "billed.jsonl"
    command = [sys.executable, str(Path(loopback.__file__)), "--log", str(log), "--fault", "2=quota"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        base_url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        statuses = [http.post(base_url + "/v1/responses", json=ASKED).status_code for _ in range(2)]
        stats = http.get(base_url + "/_stats").json()
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=10)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert statuses == [200, 429]
    assert (stats["generations"], stats["billed_tokens"]) == (1, 12)
    assert [line["billed"] for line in lines] == [True, False]
