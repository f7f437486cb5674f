"""`bench.data.java_random` against values printed by a real JDK (see tests/golden/data/JavaRandomGolden.java)."""

import json
from pathlib import Path

import pytest

from bench.data.java_random import JavaRandom

GOLDEN = Path(__file__).parent.parent / "golden" / "data" / "java_random.json"
VECTORS = json.loads(GOLDEN.read_text(encoding="utf-8"))["vectors"]


@pytest.fixture(params=VECTORS, ids=lambda vector: vector["seed"])
def vector(request):
    return request.param


def test_next_int_as_the_jdk_prints_it(vector):
    """Twelve draws for each bound, powers of two and bounds that need redraws included."""
    for bound, expected in vector["next_int"].items():
        random = JavaRandom(int(vector["seed"]))
        assert expected == [random.next_int(int(bound)) for _ in expected]


def test_next_long_as_the_jdk_prints_it(vector):
    """Six signed 64-bit integers."""
    random = JavaRandom(int(vector["seed"]))
    assert vector["next_long"] == [str(random.next_long()) for _ in range(6)]


def test_next_double_as_the_jdk_prints_it(vector):
    """Six doubles, compared bit for bit."""
    random = JavaRandom(int(vector["seed"]))
    assert [float.fromhex(text) for text in vector["next_double"]] == [random.next_double() for _ in range(6)]


def test_shuffle_as_the_jdk_does_it(vector):
    """Lists of 0 to 40 elements, shuffled in place."""
    for size, expected in vector["shuffle"].items():
        items = list(range(int(size)))
        JavaRandom(int(vector["seed"])).shuffle(items)
        assert expected == items


def test_draws_of_different_kinds_share_one_stream(vector):
    """An int, a long, a double and an int drawn in turn."""
    random = JavaRandom(int(vector["seed"]))
    number, long, double, letter = vector["mixed"]
    assert number == random.next_int(9000)
    assert int(long) == random.next_long()
    assert float.fromhex(double) == random.next_double()
    assert letter == random.next_int(26)


def test_the_check_values_of_the_design():
    """Seed 42 draws 4130, 5763, 4248, 6884 below 9000."""
    random = JavaRandom(42)
    assert [4130, 5763, 4248, 6884] == [random.next_int(9000) for _ in range(4)]


@pytest.mark.parametrize("bound", [0, -1, 1 << 31])
def test_a_bound_that_java_refuses_is_refused(bound):
    """Zero, negative and beyond int."""
    with pytest.raises(ValueError, match="bound"):
        JavaRandom(0).next_int(bound)
