"""A key shows up nowhere: not in a traceback with all locals, not in a log, not in a junit file."""

import logging
import subprocess
import sys
import traceback
from pathlib import Path

import httpx
import pytest

from bench.llm.credentials import Credentials
from bench.llm.model import LlmRequest, TransportError
from bench.llm.responses import ResponsesClient
from bench.llm.transport import Transport
from tests.loopback import LoopbackServer, Step, drop, reply

KEY = "sk-sentinel-0123456789"
ENV = {"OPENAI_API_KEY": KEY, "OPENAI_PROJECT": "proj_sentinel_1", "OPENAI_ORGANIZATION": "org-sentinel-1"}
REQUEST = LlmRequest("m", "i", (), 16)


class Raising(httpx.BaseTransport):
    """Fails deep below the client, with the headers at hand."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = dict(request.headers)
        assert headers["authorization"] == f"Bearer {KEY}"
        raise self.error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("bug"), MemoryError()])
def test_what_passes_through_carries_no_frame_that_knows_the_key(error):
    """Ctrl-C and bugs go up, but the frames that held the headers do not."""
    credentials = Credentials.from_environment(ENV)
    with (
        Transport("https://api.openai.com/v1", credentials=credentials, transport=Raising(error)) as transport,
        pytest.raises(type(error)) as raised,
    ):
        ResponsesClient(transport).generate(REQUEST)
    frames = list(traceback.walk_tb(raised.value.__traceback__))[1:]
    assert [frame.f_code.co_name for frame, _ in frames] == ["generate", "send", "post"]
    assert "sentinel" not in repr([frame.f_locals for frame, _ in frames])


def test_an_error_message_that_quotes_the_header_is_masked():
    """Some HTTP errors put the offending header into their text."""
    error = httpx.RemoteProtocolError(f"Illegal header value b'Bearer {KEY}'")
    credentials = Credentials.from_environment(ENV)
    with Transport("https://api.openai.com/v1", credentials=credentials, transport=Raising(error)) as transport:
        result = ResponsesClient(transport).generate(REQUEST)
    expected = "RemoteProtocolError: Illegal header value b'Bearer [redacted]'"
    assert result == TransportError(expected, ambiguous_outcome=True)


def test_no_log_level_shows_a_secret(caplog):
    """httpx and httpcore log requests; at DEBUG, over a real socket, no header of ours is among it."""

    def echo(request) -> Step:
        return reply({"error": {"message": request.header("authorization")}}, 401)

    caplog.set_level(logging.DEBUG)
    credentials = Credentials.from_environment(ENV)
    with LoopbackServer([echo, drop()]) as server, Transport(server.base_url, credentials=credentials) as transport:
        results = [ResponsesClient(transport).generate(REQUEST) for _ in range(2)]
    assert caplog.records
    assert "sentinel" not in caplog.text
    assert "sentinel" not in f"{results}{results[0].raw_body!r}"


FAILING_TEST = """
import os, httpx
from bench.llm.credentials import Credentials
from bench.llm.model import LlmRequest
from bench.llm.responses import ResponsesClient
from bench.llm.transport import Transport

class Raising(httpx.BaseTransport):
    def handle_request(self, request):
        headers = dict(request.headers)
        raise RuntimeError("deep below")

def generate(client, credentials):
    client.generate(LlmRequest("m", "i", (), 16))

def test_deep():
    credentials = Credentials.from_environment(os.environ)
    transport = Transport("https://api.openai.com/v1", credentials=credentials, transport=Raising())
    generate(ResponsesClient(transport), credentials)

def test_refused():
    Credentials.from_environment(dict(os.environ) | {"OPENAI_PROJECT": os.environ["OPENAI_API_KEY"] + chr(10)})
"""


@pytest.mark.parametrize(
    "style", [["-l", "--tb=long"], ["-l", "--full-trace", "--tb=short"], ["--tb=native"]], ids=" ".join
)
def test_pytest_prints_no_secret_of_a_failing_test(tmp_path, style):
    """pytest shows arguments of failing frames, and with -l all their locals; output and junit hold no key."""
    (tmp_path / "test_failing.py").write_text(FAILING_TEST)
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ".", "--junitxml=junit.xml"]
    result = subprocess.run(
        [*command, "--log-level=DEBUG", "-o", "junit_logging=all", *style, "test_failing.py"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(root), **ENV},
        capture_output=True,
        text=True,
        check=False,
    )
    printed = result.stdout + result.stderr + (tmp_path / "junit.xml").read_text()
    assert "2 failed" in result.stdout
    assert "deep below" in printed
    assert "sentinel" not in printed
