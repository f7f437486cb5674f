"""The ways in which all prompts of a plan can differ from those of the main experiment: factors of a preset, as values.

They are the same for every notation of a plan. What each does to a prompt is in `episode`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.lang.ast import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

SPACES = {"none": 0, "two_spaces": 2}


@dataclass(frozen=True, slots=True)
class PromptStyle:
    """How many examples are shown, how far each level is indented (spaces), and the one kind of all examples' blocks.

    ``kind`` None: the kinds as they were drawn.
    """

    shots: int = 8
    indent: int = 0
    kind: Kind | None = None


STANDARD = PromptStyle()


def style_of(config: Mapping[str, Any]) -> PromptStyle:
    """The style that a preset, as it stands in ``protocol.json``, asks for; KeyError or ValueError for another form."""
    kinds = config.get("kinds")
    return PromptStyle(
        shots=config["few_shot_count"],
        indent=SPACES[config["indentation"]],
        kind=None if kinds is None else Kind(kinds),
    )
