"""Usage: exact integers, unknown stays unknown, impossible numbers are no numbers."""

import json

import pytest

from bench.llm.model import TokenUsage
from bench.llm.usage import read_usage, usage_if_readable
from bench.llm.wire_fields import WrongShapeError
from bench.wire.strict_json import loads


def read(text: str):
    return read_usage(loads('{"usage": ' + text + "}"))


def usage(**changes) -> str:
    return json.dumps({"input_tokens": 100, "output_tokens": 30, "total_tokens": 130} | changes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (usage(), TokenUsage(100, 30, 130)),
        (usage(input_tokens_details=None, output_tokens_details={}), TokenUsage(100, 30, 130)),
        (usage(input_tokens_details={"cached_tokens": 0}), TokenUsage(100, 30, 130, cached_input_tokens=0)),
        (usage(input_tokens_details={"cached_tokens": None}), TokenUsage(100, 30, 130)),
        (usage(output_tokens_details={"reasoning_tokens": 30}), TokenUsage(100, 30, 130, reasoning_tokens=30)),
        (usage(output_tokens=0, total_tokens=100), TokenUsage(100, 0, 100)),
        (usage(future_tokens={"a": [1.5]}), TokenUsage(100, 30, 130)),
        ("null", None),
    ],
)
def test_missing_details_are_unknown_and_never_zero(text, expected):
    """A reported 0 is 0, an absent or null detail is None, an unknown field is no harm."""
    assert read(text) == (expected, [])


@pytest.mark.parametrize(
    ("text", "anomaly"),
    [
        ("{}", "usage without all"),
        (usage(total_tokens=None), "usage without all"),
        (usage(input_tokens=-1), "below 0"),
        (usage(output_tokens_details={"reasoning_tokens": -1}), "below 0"),
        (usage(total_tokens=2**63), "beyond 2^63"),
        (usage(input_tokens=0, output_tokens=0, total_tokens=0), "usage of 0 tokens"),
    ],
)
def test_impossible_usage_is_unknown_usage(text, anomaly):
    """The answer is kept and the reservation stays charged."""
    counts, anomalies = read(text)
    assert counts is None
    assert anomaly in anomalies[0]


@pytest.mark.parametrize(
    ("text", "anomaly"),
    [
        (usage(total_tokens=131), "total_tokens is not"),
        (usage(input_tokens_details={"cached_tokens": 101}), "more cached than input"),
        (usage(input_tokens_details={"cached_tokens": 60, "cache_write_tokens": 60}), "more cached than input"),
        (usage(output_tokens_details={"reasoning_tokens": 31}), "more reasoning than output"),
    ],
)
def test_contradictory_usage_is_kept_and_noted(text, anomaly):
    """The counts stay as reported; what does not add up is said."""
    counts, anomalies = read(text)
    assert (counts.input_tokens, counts.output_tokens) == (100, 30)
    assert len(anomalies) == 1
    assert anomaly in anomalies[0]


@pytest.mark.parametrize("bad", ['"100"', "100.0", "1e2", "true", "[100]", "{}"])
@pytest.mark.parametrize("name", ["input_tokens", "output_tokens", "total_tokens"])
def test_a_count_that_is_no_json_integer_has_the_wrong_shape(name, bad):
    """8.7: exact range and integrality; a boolean is not 1 and 100.0 is not 100."""
    text = usage().replace(f'"{name}": ', f'"{name}": {bad}, "was_{name}": ')
    with pytest.raises(WrongShapeError, match=name):
        read(text)
    assert usage_if_readable(loads('{"usage": ' + text + "}")) is None


def test_the_largest_exact_count_is_read():
    """2^63 - 1 fits a 64-bit integer, one more does not."""
    top = 2**63 - 1
    assert read(usage(input_tokens=top - 30, total_tokens=top))[0] == TokenUsage(top - 30, 30, top)
