"""Request bodies: the fields of 8.4 and 8.5, no more, and the bytes that are hashed are the bytes that are sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.llm.body import body_bytes, count_body, generation_body
from bench.llm.model import LlmRequest, TextMessage
from bench.wire.canonical import CanonicalError

TEXT = 'TEST\nlet x_a 1048\n"quoted" \\ tab\t 日本語 😀 \u2028 \x00'
PLAIN = LlmRequest("gpt-5.6-terra", "Answer.", (TextMessage("user", TEXT),), 8192)
FULL = LlmRequest("m", "i", (TextMessage("user", "u"),), 64, reasoning_effort="low", temperature=0.2, top_p=1.0)


def test_the_generation_body_is_the_one_of_the_specification():
    """8.4, field for field."""
    request = LlmRequest("m", "i", (TextMessage("user", "u"),), 8192, reasoning_effort="low")
    assert generation_body(request) == {
        "model": "m",
        "instructions": "i",
        "input": [{"role": "user", "content": "u"}],
        "reasoning": {"effort": "low"},
        "max_output_tokens": 8192,
        "store": False,
        "stream": False,
        "truncation": "disabled",
    }


def test_a_setting_that_is_none_has_no_field():
    """Null settings are not sent, set ones are."""
    assert {"reasoning", "temperature", "top_p"}.isdisjoint(generation_body(PLAIN))
    assert generation_body(FULL).items() >= {"temperature": 0.2, "top_p": 1.0, "max_output_tokens": 64}.items()


def test_the_count_body_holds_model_instructions_and_input_only():
    """8.5: no generation parameter is forwarded."""
    assert set(count_body(FULL)) == {"model", "instructions", "input"}
    assert generation_body(FULL).items() >= count_body(FULL).items()


def test_every_character_of_a_prompt_survives_the_wire():
    """Escaping is the serializer's work, and it is exact."""
    assert json.loads(body_bytes(generation_body(PLAIN)))["input"][0]["content"] == TEXT


@given(st.floats(0, 2), st.floats(0, 1))
def test_sampling_settings_survive_the_wire(temperature, top_p):
    """A float is sent with the digits that give the same float back."""
    request = LlmRequest("m", "i", (), 16, temperature=temperature, top_p=top_p)
    sent = json.loads(body_bytes(generation_body(request)))
    assert (sent["temperature"], sent["top_p"]) == (temperature, top_p)


def test_equal_requests_have_equal_bytes():
    """The bytes are canonical: keys sorted, no spaces."""
    assert body_bytes(count_body(FULL)) == (b'{"input":[{"content":"u","role":"user"}],"instructions":"i","model":"m"}')


def test_a_prompt_that_is_no_unicode_text_is_not_sent():
    """An unpaired surrogate stops here and not inside the HTTP library."""
    with pytest.raises(CanonicalError):
        body_bytes(count_body(LlmRequest("m", "\ud800", (), 16)))
