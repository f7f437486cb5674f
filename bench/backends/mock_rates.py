"""How often the mock errs: the rates of ``mock_rates.json``, and seeded draws that depend on nothing but a trial.

No texts and no HTTP here.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Mapping

Slip = Literal[
    "wrong_answer",
    "invalid_answer_format",
    "invalid_generated_syntax",
    "valid_syntax_wrong_ast",
    "no_text",
    "refusal",
    "incomplete_output",
    "suspected_truncation",
]
Fault = Literal[
    "rate_limited",
    "server_error",
    "overloaded",
    "rejected",
    "failed",
    "connection_reset",
    "not_connected",
    "unreadable",
]
PerMille = Annotated[int, Field(ge=0, le=1000)]
Name = TypeVar("Name", bound=str)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FaultRate(_Strict):
    """How many trials in a thousand meet a fault, and how many attempts it lasts."""

    per_mille: PerMille
    attempts: Annotated[int, Field(ge=1)]


class FlawedRates(_Strict):
    """Rates of the ``flawed`` mode; what is left of a thousand is answered right."""

    reading_per_mille: dict[Slip, PerMille]
    writing_per_mille: dict[Slip, PerMille]
    infrastructure: dict[Fault, FaultRate]


class PlantedRates(_Strict):
    """Right answers in a thousand, per notation, of the ``planted`` mode."""

    accuracy_per_mille: dict[str, PerMille]


class MockRates(_Strict):
    """The whole file."""

    seed: str
    flawed: FlawedRates
    planted: PlantedRates


@cache
def load_rates() -> MockRates:
    """The rates that come with the package."""
    text = files("bench.backends").joinpath("mock_rates.json").read_text(encoding="utf-8")
    return MockRates.model_validate(json.loads(text))


def draw(bound: int, *key: str) -> int:
    """An integer in [0, bound), the same for the same ``key`` in every process (bound well below 2^64)."""
    digest = sha256("\x00".join((load_rates().seed, *key)).encode()).digest()
    return int.from_bytes(digest[:8], "big") % bound


def pick(per_mille: Mapping[Name, int], *key: str) -> Name | None:
    """The entry that a draw of one in a thousand falls on; None for what is left of the thousand."""
    mark = draw(1000, *key)
    for name, width in per_mille.items():
        mark -= width
        if mark < 0:
            return name
    return None
