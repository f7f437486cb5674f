"""Seed derivation against the check values of the experiment's definition."""

import hashlib
import struct

from bench.data.seeds import Purpose, child_seed, namespace


def test_the_two_check_values():
    """Master 0 and 20261005, namespace ``structure``."""
    assert 1295802650997258572 == child_seed(0, "structure", 0)
    assert 2802680240763574189 == child_seed(20261005, "structure", 1)


def test_the_bytes_that_are_hashed():
    """Master, length, name and index in big-endian; a negative master and a name beyond ASCII included."""
    name = "pilot/é".encode()
    message = struct.pack(">q", -5) + struct.pack(">i", len(name)) + name + struct.pack(">q", 7)
    expected = struct.unpack(">q", hashlib.sha256(message).digest()[:8])[0]
    assert expected == child_seed(-5, "pilot/é", 7)


def test_namespaces_cannot_run_into_each_other():
    """Each purpose, cell and attempt has a seed of its own."""
    names = [namespace("pilot", purpose, "reading", f"8-32-{index}") for purpose in Purpose for index in range(4)]
    assert "pilot/structure/reading/8-32-3" in names
    seeds = {child_seed(1, name, attempt) for name in names for attempt in range(3)}
    assert len(names) * 3 == len(seeds)
