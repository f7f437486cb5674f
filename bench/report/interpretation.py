"""Which sentences a report may say about its results: rules as data, after section 10.7 of the specification.

A rule looks at verdicts only and names no cause. The verdicts themselves come from the frozen decision rule in
``bench.stats``; nothing is decided again here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.stats.bootstrap import Interval

Place = tuple[str, str, str]  # task, view, contrast
NOT_RUN = "not_run"

READING_D_B: Place = ("scope_lookup", "after_close", "named_end-generic_end")
CONTROL_D_B: Place = ("scope_lookup", "before_close", "named_end-generic_end")
STACK_D_B: Place = ("active_stack", "after_close", "named_end-generic_end")
WRITING_D_B: Place = ("ast_to_source", "program", "named_end-generic_end")
READING_D_E: Place = ("scope_lookup", "after_close", "named_end-padded_end")
READING_D_C: Place = ("scope_lookup", "after_close", "named_end-typed_end")
READING_C_B: Place = ("scope_lookup", "after_close", "typed_end-generic_end")


@dataclass(frozen=True, slots=True)
class Clause:
    """True where at least one of ``places`` has one of ``verdicts``."""

    places: tuple[Place, ...]
    verdicts: frozenset[str]

    def holds(self, verdicts: Mapping[Place, str]) -> bool:
        """Whether these verdicts fulfil the clause; a place that was not run has the verdict ``not_run``."""
        return any(verdicts.get(place, NOT_RUN) in self.verdicts for place in self.places)


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence and the clauses that must all hold for it; ``{smallest_effect}`` is in percentage points."""

    name: str
    clauses: tuple[Clause, ...]
    sentence: str


def _where(place: Place, *verdicts: str) -> Clause:
    return Clause((place,), frozenset(verdicts))


RULES: tuple[Rule, ...] = (
    Rule(
        "primary_withheld",
        (_where(READING_D_B, "withheld"),),
        "No verdict on D − B: the run is not complete enough for one (the reasons stand in section 4). The numbers "
        "below describe what came in so far and are no result.",
    ),
    Rule(
        "primary_positive",
        (_where(READING_D_B, "positive"),),
        "In this task, the model looked up values correctly more often when each block's end repeated its kind and "
        "name (D) than with a bare end line (B). Several explanations fit: the repeated name as a cue for search, ends "
        "that are easier to tell apart, attention that is easier to direct. The experiment does not separate them, and "
        "it does not show that a shorter dependency is the reason.",
    ),
    Rule(
        "primary_negative",
        (_where(READING_D_B, "negative"),),
        "In this task, the model looked up values correctly less often with named ends (D) than with a bare end "
        "line (B). Worth examining: the price of redundancy, the work of matching names, tokenization, prompt length. "
        "No failure was left out to reach this number.",
    ),
    Rule(
        "primary_equivalent",
        (_where(READING_D_B, "equivalent"),),
        "D and B differ by less than {smallest_effect} percentage points for this model, prompt, difficulty and set of "
        "programs, by the equivalence test laid down beforehand. Outside these conditions that says nothing.",
    ),
    Rule(
        "primary_inconclusive",
        (_where(READING_D_B, "inconclusive"),),
        "With this model, prompt, difficulty and sample, no difference between D and B was detected. That does not "
        "show that the two are equivalent: section 4 says how large a difference could have been missed.",
    ),
    Rule(
        "primary_flagged",
        (_where(READING_D_B, "flagged"),),
        "The 95 % interval of D − B lies on one side of 0, but it is flagged as unreliable at this size (section 4), "
        "and the decision rule takes no verdict from such an interval. The direction is a hint; more families per cell "
        "would have to decide.",
    ),
    Rule(
        "primary_no_interval",
        (_where(READING_D_B, "no_interval"),),
        "No interval could be formed for D − B (section 4 says why), so nothing follows about the size of a "
        "difference, nor about its absence.",
    ),
    Rule(
        "also_before_the_closes",
        (_where(READING_D_B, "positive"), _where(CONTROL_D_B, "positive")),
        "D − B is also positive before the closes. Those prefixes contain other ends already, so this view is a "
        "control and not a strict placebo; still, the difference is not specific to the closes that were just read.",
    ),
    Rule(
        "no_better_than_padding",
        (_where(READING_D_B, "positive"), _where(READING_D_E, "equivalent", "negative")),
        "D is better than B but not better than E, whose ends are long and carry no information: the length, shape or "
        "separating look of an end may be what helps, rather than what it says (exploratory).",
    ),
    Rule(
        "padding_not_told_apart",
        (_where(READING_D_B, "positive"), _where(READING_D_E, "inconclusive")),
        "D is better than B, and the sample cannot tell D from E, whose ends are long and carry no information: an "
        "effect of length or shape alone is not excluded (exploratory).",
    ),
    Rule(
        "better_than_padding",
        (_where(READING_D_B, "positive"), _where(READING_D_E, "positive")),
        "D is better than B and also better than E, whose ends are long and carry no information: in this task length "
        "alone does not account for the difference, as far as E matches D's length (exploratory; section 5 compares "
        "the tokens).",
    ),
    Rule(
        "name_beyond_kind",
        (_where(READING_D_C, "positive"),),
        "D is better than C: in this task, repeating the name may add something to repeating the kind (exploratory).",
    ),
    Rule(
        "kind_beyond_bare_end",
        (_where(READING_C_B, "positive"),),
        "C is better than B: in this task, repeating the kind alone may already help (exploratory).",
    ),
    Rule(
        "reading_up_writing_down",
        (Clause((READING_D_B, STACK_D_B), frozenset({"positive"})), _where(WRITING_D_B, "negative")),
        "Named ends go with better reading and worse writing here: they can serve as a cue when they are there, and "
        "producing them is a burden of its own.",
    ),
    Rule(
        "reading_down_writing_up",
        (Clause((READING_D_B, STACK_D_B), frozenset({"negative"})), _where(WRITING_D_B, "positive")),
        "Named ends go with worse reading and better writing here; the two questions have different answers.",
    ),
    Rule(
        "writing_down",
        (_where(WRITING_D_B, "negative"),),
        "Writing: whole programs came out exactly right less often with named ends than with a bare end line "
        "(exploratory).",
    ),
    Rule(
        "writing_up",
        (_where(WRITING_D_B, "positive"),),
        "Writing: whole programs came out exactly right more often with named ends than with a bare end line "
        "(exploratory).",
    ),
    Rule(
        "stack_up",
        (_where(STACK_D_B, "positive"),),
        "Structure: the list of open blocks was right more often with named ends than with a bare end line "
        "(exploratory).",
    ),
    Rule(
        "stack_down",
        (_where(STACK_D_B, "negative"),),
        "Structure: the list of open blocks was right less often with named ends than with a bare end line "
        "(exploratory).",
    ),
)


def refined(verdict: str, interval: Interval | None) -> str:
    """The verdict; *inconclusive* is told apart by what kept it so: no interval, a flagged one, or one around 0."""
    if verdict != "inconclusive":
        return verdict
    if interval is None:
        return "no_interval"
    return "flagged" if interval.excludes_zero else verdict


def interpret(verdicts: Mapping[Place, str], *, smallest_effect_pp: float | None) -> tuple[str, ...]:
    """The sentences whose rules hold, in the order of the rules."""
    effect = "the smallest relevant effect in" if smallest_effect_pp is None else f"{smallest_effect_pp:g}"
    return tuple(
        rule.sentence.format(smallest_effect=effect)
        for rule in RULES
        if all(clause.holds(verdicts) for clause in rule.clauses)
    )
