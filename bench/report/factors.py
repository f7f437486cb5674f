"""What a plan changes against the main experiment, and the caution that goes with each change: rules as data.

After section 12 of the specification. A rule looks at the planned configuration only, never at a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

STANDARD_SHOTS, STANDARD_EFFORT = 8, "low"
CHECK_SYNTAX = "misnamed_end"


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: when a plan uses it, read from its configuration, and what a reader must keep in mind then."""

    name: str
    used: Callable[[Mapping[str, Any]], bool]
    caution: str


FACTORS: tuple[Factor, ...] = (
    Factor(
        "families of another preset",
        lambda config: config.get("families_of") is not None,
        "This run asks about programs that another preset asks about too, so that one setting at a time can be "
        "compared (locality diff). Comparisons between runs are exploratory: the runs differ in time as well, and only "
        "the notations within a run were interleaved.",
    ),
    Factor(
        "effort",
        lambda config: config["model"]["reasoning_effort"] not in {None, STANDARD_EFFORT},
        "The reasoning effort is not that of the main plan. A difference between notations that shows at one effort "
        "only is a result about that effort; it does not make a notation easier to read for models in general.",
    ),
    Factor(
        "indentation",
        lambda config: config["indentation"] != "none",
        "Every level is indented by two spaces in every notation. Indentation shows the structure by itself, so this "
        "is a factor of its own and no part of the main comparison, whose programs are flush left.",
    ),
    Factor(
        "number of examples",
        lambda config: config["few_shot_count"] != STANDARD_SHOTS,
        "The number of examples differs from the main plan's 8. With it the length of the prompt changes too, so a "
        "difference to runs with other numbers is one of both together.",
    ),
    Factor(
        "no example",
        lambda config: config["few_shot_count"] == 0,
        "No example was shown, only what statements mean and how they are written. The form of the answer was never "
        "seen either: read format failures apart from wrong answers. Leaving out example sets says nothing here.",
    ),
    Factor(
        "one kind of block",
        lambda config: config.get("kinds") is not None,
        "Every block is a func, so the kind in a typed end (C) tells no blocks apart and D − C is about the name. "
        "These programs were chosen to look at that; they support no claim that a notation is better in general.",
    ),
    Factor(
        "wrong names",
        lambda config: CHECK_SYNTAX in config["syntaxes"],
        "Ends of F repeat the right kind and carry a well-formed name that no block has; the prompt says so. It is a "
        "check whether names are read, not a notation that anyone would use. F below D can mean that right names were "
        "used or that wrong ones disturb, and F like D is also what happens where names are not needed: the check "
        "tells these apart only together with D − B and F − B.",
    ),
)


def cautions(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The cautions of the factors that a plan with this configuration uses, in the order of the rules."""
    return tuple(factor.caution for factor in FACTORS if factor.used(config))
