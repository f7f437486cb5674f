"""Strict JSON: every rule of section 8.7."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.wire.strict_json import JsonError, dumps, loads

texts = st.text(st.characters(exclude_categories=["Cs"]))
decimals = st.decimals(allow_nan=False, allow_infinity=False).filter(lambda d: "." in str(d) or "E" in str(d))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | decimals | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\"\\\/\b\f\n\r\t"', '"\\/\b\f\n\r\t'),
        (r'"\u0000\u001f\u007f"', "\x00\x1f\x7f"),
        ('"日本語"', "日本語"),
        (r'"\u65e5"', "日"),
        (r'"\ud83d\ude00"', "😀"),
        ('"😀"', "😀"),
        (r'"\\ud800"', r"\ud800"),
        ("[]", []),
        ("{}", {}),
        (' {"a" : [ {"b": []} , {} ] }\r\n', {"a": [{"b": []}, {}]}),
        ("[true,false,null]", [True, False, None]),
        ("-0", 0),
        ("-17", -17),
        ("9223372036854775808", 2**63),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("1.10", Decimal("1.10")),
        ("-2.5e-3", Decimal("-2.5e-3")),
        ("1E400", Decimal("1E400")),
        ("7.0", Decimal("7.0")),
    ],
)
def test_json_is_read_exactly(text, value):
    """Escapes, supplementary characters and numbers of any size come out exactly."""
    assert loads(text) == value
    assert type(loads(text.encode())) is type(value)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("[1,]", 3),
        ('{"a":1,}', 7),
        ("[1", 2),
        ('"abc', 0),
        ('{"a"', 4),
        ("", 0),
        ("   ", 3),
        (r'"\x"', 1),
        (r'"\u12g4"', 2),
        ('"a\tb"', 2),
        ("[1] x", 4),
        ("1 2", 2),
        ("01", 1),
        ("1.", 1),
        (".5", 0),
        ("+1", 0),
        ("'a'", 0),
        ("{1:2}", 1),
        ("[1] // note", 4),
        ("\ufeff[]", 0),
        ("\u0661", 0),
        ("[\u00a01]", 1),
        (r'"\ud800"', 1),
        (r'"ab\udc00"', 3),
        (r'"\ud800\ud800"', 1),
        (r'"\ud83dx"', 1),
        (r'{"\ud800":1}', 2),
        ("NaN", None),
        ("[Infinity]", None),
        ("-Infinity", None),
        ('{"a":1,"a":1}', None),
        (r'{"a":1,"\u0061":1}', None),
        ('[{"b":{"a":1,"c":2,"a":3}}]', None),
        ("1e99999999999999999999", None),
    ],
)
def test_what_is_not_strict_json_is_refused_with_a_place(text, offset):
    """Each refusal names the offset, or None where the decoder does not know it."""
    with pytest.raises(JsonError) as refusal:
        loads(text)
    assert refusal.value.offset == offset
    assert refusal.value.reason


@pytest.mark.parametrize("data", [b'"\xff"', b'"\xed\xa0\x80"', b'"\xe3\x81"', b"\xff\xfe[\x00]\x00"])
def test_bytes_that_are_not_utf8_are_refused(data):
    """Broken, surrogate-encoding and cut-off UTF-8 are refused before any parsing."""
    with pytest.raises(JsonError, match="not UTF-8"):
        loads(data)


def test_a_lone_surrogate_in_text_is_refused():
    """A str that could not have come from UTF-8 is refused as well."""
    with pytest.raises(JsonError, match="unpaired surrogate"):
        loads('"\ud800"')


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_depth_128_is_read_and_129_is_not(opening):
    """The limit is exact, for arrays and objects alike."""
    closing = "]" if opening == "[" else "}"
    assert loads(opening * 127 + "[]" + closing * 127)
    with pytest.raises(JsonError, match="nested deeper than 128"):
        loads(opening * 128 + "[]" + closing * 128)


def test_the_depth_limit_is_exact_beside_many_siblings():
    """128 levels are read also where there are more brackets than that; one level more is refused."""
    siblings = "[]," * 200
    assert loads("[" + siblings + "[" * 127 + "]" * 127 + "]")
    with pytest.raises(JsonError, match="nested deeper than 128"):
        loads("[" + siblings + "[" * 128 + "]" * 128 + "]")


def test_depth_counts_nesting_and_not_brackets():
    """Many shallow arrays and brackets inside strings are no depth."""
    assert loads("[" + ",".join(["[]"] * 500) + "]") == [[]] * 500
    assert loads(json.dumps(["[" * 500 + '"' + "\\" + "{" * 500])) == ["[" * 500 + '"' + "\\" + "{" * 500]


def test_a_million_brackets_are_refused_quickly_and_without_recursion():
    """A bomb of brackets is a refusal, not a crash of the interpreter."""
    with pytest.raises(JsonError, match="nested deeper than 128"):
        loads(b"[" * 1_000_000)


@pytest.mark.parametrize("number", ["1" * 1024, "1." + "0" * 1022])
def test_a_number_of_1024_characters_is_read_and_1025_is_not(number):
    """The limit on number text is exact for integers and decimals."""
    assert str(loads(number)) == number
    with pytest.raises(JsonError, match="1025 characters"):
        loads(number + "0")


@given(values)
def test_writing_and_reading_returns_the_value(value):
    """dumps and loads are inverse for every value JSON can hold, decimals digit by digit."""
    again = loads(dumps(value))
    assert again == value
    assert dumps(again) == dumps(value)


@given(values)
def test_the_standard_decoder_understands_what_is_written(value):
    """Plain output is ordinary JSON."""
    assert json.loads(dumps(value), parse_float=Decimal) == value


def test_plain_output_is_compact_and_keeps_order():
    """Insertion order, no spaces, only needed escapes, floats by their repr."""
    assert (
        dumps({"b": [1, 0.5, Decimal("1.50")], "a": "é\n\x01", "c": ()})
        == '{"b":[1,0.5,1.50],"a":"é\\n\\u0001","c":[]}'
    )


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), Decimal("NaN"), "\ud800", {"\ud800": 1}, {1: 2}, {None: 2}, {1}, b"x", object()],
)
def test_what_json_cannot_hold_is_not_written(value):
    """No silent str(), no NaN, no key that is not a string."""
    with pytest.raises(JsonError):
        dumps([value])
