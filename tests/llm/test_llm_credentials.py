"""Keys: read from the environment, checked before use, never shown."""

import traceback

import pytest

from bench.llm.credentials import CredentialError, Credentials, ignored_variables

SENTINEL = "sk-sentinel-0123456789"


def test_three_variables_are_read_and_empty_is_absent():
    """8.3: a value that is not there sends no header."""
    credentials = Credentials.from_environment({"OPENAI_API_KEY": SENTINEL, "OPENAI_PROJECT": "", "HOME": "/root"})
    assert credentials.api_key.get_secret_value() == SENTINEL
    assert (credentials.project, credentials.organization) == (None, None)
    assert Credentials.from_environment({}) == Credentials()


def test_the_sdks_other_names_are_reported_and_not_read():
    """Somebody who set OPENAI_ORG_ID learns that it has no effect."""
    env = {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj_1", "OPENAI_PROJECT": "proj_2"}
    assert ignored_variables(env) == ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
    assert ignored_variables({"OPENAI_ORG_ID": ""}) == ()


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_PROJECT", "OPENAI_ORGANIZATION"])
@pytest.mark.parametrize("bad", ["\n", "\r\nX-Evil: 1", " ", "\x00", "\x7f", "é", "鍵", "\ud800"])
def test_a_byte_that_no_header_may_hold_is_refused_without_showing_the_value(name, bad):
    """The error names variable and position; neither it nor its frames hold the value."""
    with pytest.raises(CredentialError) as refusal:
        Credentials.from_environment({name: SENTINEL + bad})
    assert name in str(refusal.value)
    assert "position 23" in str(refusal.value)
    assert SENTINEL not in "".join(traceback.format_exception(refusal.value))
    frames = [frame.f_locals for frame, _ in traceback.walk_tb(refusal.value.__traceback__)]
    assert not [values for values in frames[1:] if SENTINEL in repr(values)]


def test_a_value_too_short_to_be_masked_is_refused():
    """Masking "a" everywhere would eat the answers."""
    with pytest.raises(CredentialError, match="3 characters"):
        Credentials.from_environment({"OPENAI_API_KEY": "abc"})


def test_no_printed_form_shows_a_secret():
    """repr, str and format of the credentials and of each secret."""
    credentials = Credentials.from_environment(dict.fromkeys(["OPENAI_API_KEY", "OPENAI_PROJECT"], SENTINEL))
    shown = f"{credentials} {credentials!r} {credentials.secrets} {credentials.api_key}"
    assert SENTINEL not in shown
