"""The sentences of section 10.7 are chosen by verdicts alone and claim no cause."""

from __future__ import annotations

import itertools
import re

import pytest

from bench.report.interpretation import (
    READING_D_B,
    READING_D_C,
    READING_D_E,
    RULES,
    STACK_D_B,
    WRITING_D_B,
    Place,
    Rule,
    interpret,
    refined,
)
from bench.stats.bootstrap import Interval

VERDICTS = ("withheld", "positive", "negative", "equivalent", "inconclusive", "flagged", "no_interval")


def chosen(verdicts: dict[Place, str]) -> set[str]:
    said = interpret(verdicts, smallest_effect_pp=5)
    return {rule.name for rule in RULES if rule.sentence.format(smallest_effect="5") in said}


@pytest.mark.parametrize(
    ("verdicts", "names"),
    [
        ({}, set()),
        ({READING_D_B: "withheld"}, {"primary_withheld"}),
        ({READING_D_B: "equivalent"}, {"primary_equivalent"}),
        ({READING_D_B: "inconclusive", READING_D_E: "equivalent"}, {"primary_inconclusive"}),
        ({READING_D_B: "negative"}, {"primary_negative"}),
        ({READING_D_B: "positive", READING_D_E: "equivalent"}, {"primary_positive", "no_better_than_padding"}),
        ({READING_D_B: "positive", READING_D_E: "inconclusive"}, {"primary_positive", "padding_not_told_apart"}),
        ({READING_D_B: "positive", READING_D_E: "positive"}, {"primary_positive", "better_than_padding"}),
        ({READING_D_B: "positive", READING_D_C: "positive"}, {"primary_positive", "name_beyond_kind"}),
        (
            {READING_D_B: "positive", WRITING_D_B: "negative"},
            {"primary_positive", "reading_up_writing_down", "writing_down"},
        ),
        (
            {READING_D_B: "inconclusive", STACK_D_B: "positive", WRITING_D_B: "negative"},
            {"primary_inconclusive", "reading_up_writing_down", "writing_down", "stack_up"},
        ),
    ],
)
def test_the_rules_pick_these_sentences(verdicts: dict[Place, str], names: set[str]) -> None:
    """A table of verdicts and the sentences that a person reading section 10.7 would pick."""
    assert names == chosen(verdicts)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_each_primary_verdict_has_exactly_one_sentence(verdict: str) -> None:
    """Nothing is said twice and nothing is left unsaid about the primary comparison."""
    assert {f"primary_{verdict}"} == {name for name in chosen({READING_D_B: verdict}) if name.startswith("primary_")}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_can_speak(rule: Rule) -> None:
    """For each rule some table of verdicts makes it true: a rule that never fires would be dead."""
    verdicts = {clause.places[0]: min(clause.verdicts) for clause in rule.clauses}
    assert rule.name in chosen(verdicts)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_no_sentence_claims_a_cause_or_the_absence_of_an_effect(rule: Rule) -> None:
    """The words that would claim more than the design can show do not occur."""
    claims = re.compile(
        r"\b(because|caus\w+|due to|prove[sd]?|thanks to|no effect|no difference exists|cognitive|understands?)\b",
        re.IGNORECASE,
    )
    assert [] == claims.findall(rule.sentence)


@pytest.mark.parametrize(
    ("verdict", "interval", "expected"),
    [
        ("positive", Interval(1, 2), "positive"),
        ("inconclusive", Interval(-1, 2), "inconclusive"),
        ("inconclusive", Interval(0, 2), "inconclusive"),
        ("inconclusive", Interval(15, 42), "flagged"),
        ("inconclusive", None, "no_interval"),
        ("withheld", None, "withheld"),
    ],
)
def test_inconclusive_is_told_apart_by_its_reason(verdict: str, interval: Interval | None, expected: str) -> None:
    """An interval beside 0 that is only flagged is not described as one that contains 0."""
    assert expected == refined(verdict, interval)


def test_exploratory_places_say_so() -> None:
    """Every sentence that rests on an exploratory contrast alone carries the word."""
    primary = {"primary_withheld", *(f"primary_{verdict}" for verdict in VERDICTS)}
    paired = {"also_before_the_closes", "reading_up_writing_down", "reading_down_writing_up"}
    assert [] == [
        rule.name for rule in RULES if rule.name not in primary | paired and "(exploratory" not in rule.sentence
    ]


def test_verdicts_other_than_the_five_say_nothing() -> None:
    """Tasks that were not run choose no sentence."""
    places = {place for rule in RULES for clause in rule.clauses for place in clause.places}
    for pair in itertools.combinations(sorted(places), 2):
        assert () == interpret(dict.fromkeys(pair, "not_run"), smallest_effect_pp=None)
