"""The canonical form: RFC 8785, and what must not be hashed."""

import hashlib
import json
from decimal import Decimal

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from bench.wire.canonical import CanonicalError, canonical, canonical_with_floats
from bench.wire.hashing import hash_document, hash_file, sha256_hex

texts = st.text(st.characters(exclude_categories=["Cs"]))
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def test_the_example_of_the_rfc():
    """The input of RFC 8785, section 3.2.2, gives the bytes of its section 3.2.4."""
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '\u20ac$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical_with_floats(value) == expected.encode()


def test_keys_are_sorted_by_utf16_units():
    """The order of RFC 8785, section 3.2.3, which differs from the order of code points."""
    value = dict.fromkeys(["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"], 0)
    keys = list(json.loads(canonical(value)))
    assert keys == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


@given(documents, st.randoms(use_true_random=False))
def test_key_order_and_spacing_do_not_change_the_hash(document, random):
    """A document read from any spelling has the same hash."""

    def shuffled(value):
        if isinstance(value, dict):
            keys = list(value)
            random.shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(member) for member in value] if isinstance(value, list) else value

    assert hash_document(shuffled(json.loads(json.dumps(document, indent=2)))) == hash_document(document)


@given(documents)
def test_the_quick_way_writes_the_bytes_of_the_library(document):
    """Documents without floats may be written by the standard library: it makes no difference."""
    assert canonical(document) == rfc8785.dumps(document)


def test_the_quick_way_escapes_every_character_as_the_library_does():
    """Control characters, quotation marks, line separators, and the last of each plane."""
    characters = [chr(code) for code in (*range(0x300), 0x2028, 0x2029, 0xFEFF, 0xFFFD, 0xFFFF, 0x1F600, 0x10FFFF)]
    assert canonical(characters) == rfc8785.dumps(characters)


@given(documents)
def test_the_canonical_form_is_the_same_document(document):
    """Nothing is lost on the way into the hash."""
    assert json.loads(canonical(document)) == document


@pytest.mark.parametrize(
    "value",
    [Decimal("1.5"), 0.5, 2**53, -(2**53), "\ud800", {"\ud800": 1}, {1: 2}, float("nan"), {1, 2}, b"x"],
    ids=repr,
)
def test_what_must_not_be_hashed_is_refused(value):
    """Decimals, floats, integers beyond 2^53 - 1 and keys that are no strings have no hash here."""
    with pytest.raises(CanonicalError):
        canonical({"cells": [value]})


def test_a_refused_float_is_named_by_its_place():
    """The message says where the float stands."""
    with pytest.raises(CanonicalError, match=r"\$\.cells\[1\]\.rate is a float"):
        canonical({"cells": [{}, {"rate": 0.25}]})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, Decimal(1)])
def test_even_with_floats_there_are_limits(value):
    """A request body may hold 0.2, but no NaN and no number that changes on the way."""
    with pytest.raises(CanonicalError):
        canonical_with_floats({"temperature": value})


def test_hashes_are_lower_case_sha256(tmp_path):
    """The three helpers agree with hashlib, on bytes, on a document, on a file."""
    data = b'{"a":"\xe6\x97\xa5","b":1}'
    expected = hashlib.sha256(data).hexdigest()
    (tmp_path / "file").write_bytes(data)
    assert sha256_hex(data) == expected
    assert hash_document({"b": 1, "a": "日"}) == expected
    assert hash_file(tmp_path / "file") == expected
