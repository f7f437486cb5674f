"""The words a program is written in: the natural ones and eight fixed nonce sets.

No notation and no rendering here. The nonce sets are data, made once by ``scripts/make_nonce_lexicons.py``; ``probe``
is the same in every lexicon.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from bench.lang.ast import Kind

PROBE_WORD = "probe"
NONCE_SETS = 8


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Six words: three kinds of four letters, ``let``, ``nop`` and ``end`` of three."""

    unit: str
    func: str
    area: str
    let: str
    nop: str
    end: str

    def kind_word(self, kind: Kind) -> str:
        """The word that stands for ``kind``."""
        match kind:
            case Kind.UNIT:
                return self.unit
            case Kind.FUNC:
                return self.func
            case Kind.AREA:
                return self.area

    @property
    def words(self) -> tuple[str, ...]:
        """All six words, in the order of the fields."""
        return (self.unit, self.func, self.area, self.let, self.nop, self.end)


NATURAL = Lexicon(unit="unit", func="func", area="area", let="let", nop="nop", end="end")


def nonce(index: int) -> Lexicon:
    """Nonce set ``index``, 0 to 7; ValueError outside."""
    if not 0 <= index < NONCE_SETS:
        raise ValueError(f"nonce sets are numbered 0 to {NONCE_SETS - 1}, got {index}")
    return _nonce_sets()[index]


def lexicon_for(lexicon_set: int | None) -> Lexicon:
    """The lexicon of a schedule row: NATURAL for None, else that nonce set."""
    return NATURAL if lexicon_set is None else nonce(lexicon_set)


@cache
def _nonce_sets() -> tuple[Lexicon, ...]:
    text = files("bench.lang").joinpath("nonce_lexicons.json").read_text(encoding="utf-8")
    return tuple(Lexicon(**row) for row in json.loads(text)["sets"])
