"""Child seeds: every random decision has a seed of its own, derived from one master seed (specification, section 5.2).

Derivation only; what is drawn with a seed is in the modules that draw.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

SEED_MIN, SEED_MAX = -(1 << 63), (1 << 63) - 1


class Purpose(StrEnum):
    """What a seed is for; two purposes never share a stream."""

    STRUCTURE = "structure"
    IDENTIFIER = "identifier"
    VALUE = "value"
    FILLER = "filler"
    LEXICON = "lexicon"
    EXAMPLE = "example"
    SCHEDULE = "schedule"
    BOOTSTRAP = "bootstrap"


def child_seed(master: int, namespace: str, index: int) -> int:
    """A signed 64-bit seed: the first 8 bytes, big-endian, of SHA-256 over master, namespace length, namespace, index.

    Master and index are 8-byte big-endian signed, the length is 4-byte big-endian, the namespace UTF-8.
    """
    name = namespace.encode()
    message = master.to_bytes(8, "big", signed=True) + len(name).to_bytes(4, "big") + name
    message += index.to_bytes(8, "big", signed=True)
    return int.from_bytes(hashlib.sha256(message).digest()[:8], "big", signed=True)


def namespace(preset: str, purpose: Purpose, *parts: str) -> str:
    """The name a seed is drawn under, e.g. ``pilot/structure/reading/8-32-3``."""
    return "/".join((preset, purpose.value, *parts))
