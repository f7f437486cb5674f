"""The natural words and the eight nonce sets."""

import hashlib
import json
from importlib.resources import files

import pytest

from bench.lang.ast import Kind
from bench.lang.lexicon import NATURAL, NONCE_SETS, PROBE_WORD, lexicon_for, nonce
from scripts.make_nonce_lexicons import RESERVED

NONCE = [nonce(index) for index in range(NONCE_SETS)]


@pytest.mark.parametrize("lexicon", [NATURAL, *NONCE], ids=["natural", *(f"nonce{index}" for index in range(8))])
def test_a_lexicon_has_six_distinct_words_of_the_right_length(lexicon):
    """Kinds have four letters, let, nop and end three, so that D and E terminators have equally many characters."""
    assert 6 == len(set(lexicon.words))
    assert [4, 4, 4, 3, 3, 3] == [len(word) for word in lexicon.words]
    assert all(word.isascii() and word.isalpha() and word.islower() for word in lexicon.words)


def test_no_nonce_word_is_reserved_or_a_prefix_of_another():
    """Across all sets and the natural words, no word begins with another, and none is known to a programmer."""
    words = [word for lexicon in (NATURAL, *NONCE) for word in lexicon.words] + [PROBE_WORD, "junk"]
    clashes = [(a, b) for i, a in enumerate(words) for j, b in enumerate(words) if i != j and a.startswith(b)]
    assert [] == clashes
    assert set() == RESERVED & {word for lexicon in NONCE for word in lexicon.words}


def test_the_nonce_sets_are_frozen():
    """Another word is another experiment: prompts, golds and hashes of every plan change with it."""
    text = files("bench.lang").joinpath("nonce_lexicons.json").read_text()
    digest = hashlib.sha256(json.dumps(json.loads(text)["sets"], sort_keys=True).encode()).hexdigest()
    assert "e1143f4793e0c07b64a2e6efe99d4a8051e3ce61e24f4fde82a8930894af3726" == digest


def test_a_schedule_row_names_its_lexicon_by_number_or_none():
    """None is natural, 0 to 7 are the sets; 8 and -1 are refused, not wrapped around."""
    assert NATURAL == lexicon_for(None)
    assert NONCE == [lexicon_for(index) for index in range(8)]
    for index in (-1, 8):
        with pytest.raises(ValueError, match="numbered 0 to 7"):
            lexicon_for(index)


def test_kind_words_are_the_words_of_the_kinds():
    """The natural kind words are the values of Kind itself."""
    assert [kind.value for kind in Kind] == [NATURAL.kind_word(kind) for kind in Kind]
