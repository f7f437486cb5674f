"""Where a key may travel: HTTPS anywhere, HTTP only to this machine, never to what only looks like it."""

import pytest

from bench.llm.credentials import Credentials
from bench.llm.endpoint import EndpointError, check_base_url, check_proxy_url

KEYED = Credentials.from_environment({"OPENAI_API_KEY": "sk-test-key"})
OPEN = Credentials()


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("http://127.8.9.1:80/v1", "http://127.8.9.1/v1"),
        ("http://localhost:1234", "http://localhost:1234/"),
        ("http://LOCALHOST:1234/v1", "http://localhost:1234/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
    ],
)
def test_https_and_literal_loopback_take_a_key(given, taken):
    """The accepted forms, without a trailing slash."""
    assert str(check_base_url(given, credentials=KEYED)) == taken


@pytest.mark.parametrize(
    "url",
    [
        "http://api.openai.com/v1",
        "http://localhost.evil.example/v1",
        "http://127.0.0.1.evil.example/v1",
        "http://127.0.0.1.:80/v1",
        "http://evil.localhost.example/v1",
        "http://0.0.0.0:8080/v1",
        "http://127.1/v1",
        "http://2130706433/v1",
        "http://0x7f.0.0.1/v1",
        "http://192.168.0.10/v1",
        "http://[::ffff:8.8.8.8]/v1",
        "http://169.254.169.254/",
    ],
)
def test_a_host_that_only_looks_like_this_machine_gets_no_key_by_http(url):
    """Without a credential the same URL is allowed: nothing secret would travel."""
    with pytest.raises(EndpointError, match="https"):
        check_base_url(url, credentials=KEYED)
    check_base_url(url, credentials=OPEN)


@pytest.mark.parametrize("only", ["OPENAI_PROJECT", "OPENAI_ORGANIZATION"])
def test_project_and_organisation_are_as_secret_as_the_key(only):
    """Any header of ours forces HTTPS."""
    with pytest.raises(EndpointError):
        check_base_url("http://api.example/v1", credentials=Credentials.from_environment({only: "proj_123"}))


@pytest.mark.parametrize(
    "url",
    [
        "https://user:pw@api.openai.com/v1",
        "https://sk-secret@api.openai.com/v1",
        "http://127.0.0.1:80@evil.example/v1",
        "http://127.0.0.1\\@evil.example/v1",
        "https://api.openai.com/v1?key=sk-secret",
        "https://api.openai.com/v1?",
        "https://api.openai.com/v1#sk-secret",
        "ftp://127.0.0.1/v1",
        "file:///etc/passwd",
        "api.openai.com/v1",
        "https://",
        "https:///v1",
        "",
        "http://[::1",
        "https://api.openai.com:99999/v1",
        "http://127.0.0.1:0/v1",
        "https://api.openai.com/\x00",
    ],
)
@pytest.mark.parametrize("credentials", [KEYED, OPEN], ids=["keyed", "open"])
def test_user_information_queries_and_other_schemes_are_refused_always(url, credentials):
    """A URL is stored in the run; it must not be able to hold a secret. The message does not repeat it either."""
    with pytest.raises(EndpointError) as refusal:
        check_base_url(url, credentials=credentials)
    assert "sk-secret" not in str(refusal.value)


def test_a_proxy_url_holds_no_password():
    """It comes from the command line, where nothing is secret."""
    assert str(check_proxy_url("http://proxy.example:3128")) == "http://proxy.example:3128"
    with pytest.raises(EndpointError, match="user information"):
        check_proxy_url("http://user:pw@proxy.example:3128")
