"""The generator of ``java.util.Random``, bit for bit, so that a program in another language can re-derive a dataset.

Pure arithmetic: no seeds are chosen here and nothing of the experiment is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import MutableSequence

_MULTIPLIER = 0x5DEECE66D
_INCREMENT = 0xB
_MASK = (1 << 48) - 1

T = TypeVar("T")


class JavaRandom:
    """A 48-bit linear congruential generator, as the class comment of ``java.util.Random`` (JDK 17) defines it."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def _next(self, bits: int) -> int:
        """The next ``bits`` (1 to 32) high bits as a signed 32-bit integer."""
        self._state = (self._state * _MULTIPLIER + _INCREMENT) & _MASK
        return _signed(self._state >> (48 - bits), 32)

    def next_int(self, bound: int) -> int:
        """A uniform integer in [0, bound), 1 <= bound < 2^31; ValueError outside. As ``nextInt(int)``."""
        if not 0 < bound < 1 << 31:
            raise ValueError(f"bound must be 1 to 2^31-1, got {bound}")
        bits = self._next(31)
        if bound & (bound - 1) == 0:
            return (bound * bits) >> 31
        value = bits % bound
        # Java repeats the draw where this sum overflows 32 bits: there the modulus would favour small values
        while bits - value + (bound - 1) >= 1 << 31:
            bits = self._next(31)
            value = bits % bound
        return value

    def next_long(self) -> int:
        """A signed 64-bit integer. As ``nextLong()``."""
        high = self._next(32)
        return _signed((high << 32) + self._next(32), 64)

    def next_double(self) -> float:
        """A uniform number in [0, 1) on the lattice of 2^-53. As ``nextDouble()``."""
        high = self._next(26)
        return ((high << 27) + self._next(27)) * 2.0**-53

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Permute ``items`` in place. As ``Collections.shuffle(list, random)``."""
        for size in range(len(items), 1, -1):
            other = self.next_int(size)
            items[size - 1], items[other] = items[other], items[size - 1]


def _signed(value: int, bits: int) -> int:
    """``value`` modulo 2^bits as two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
