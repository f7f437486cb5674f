"""The reference oracle over trees and the event oracle over parsed prefixes, each against answers worked out by hand."""

from dataclasses import dataclass

import pytest

from bench.lang.ast import CutPoint, Kind, Let, Nop, Observation, Program, Scope
from bench.lang.errors import OracleError
from bench.lang.event_oracle import observe_parsed
from bench.lang.events import Close, Event, Open, ParsedPrefix, Probe
from bench.lang.lexicon import NATURAL
from bench.lang.parse import parse_prefix
from bench.lang.reference_oracle import observe
from bench.lang.syntax import NOTATIONS, RenderSpec
from tests.lang.example_programs import AFTER_CLOSE, BEFORE_CLOSE, SPEC_PREFIX_NAMED_END, SPEC_PROGRAM


@dataclass(frozen=True)
class Hand:
    """A program, how many of its events are read, and what is seen of x_a there."""

    claim: str
    program: Program
    events: tuple[Event, ...]
    value: int
    names: tuple[str, ...]

    @property
    def cut(self) -> CutPoint:
        return CutPoint(len(self.events), "q_aaaaaaaa", "x_a")

    @property
    def prefix(self) -> ParsedPrefix:
        return ParsedPrefix(self.events, Probe("q_aaaaaaaa", "x_a"))


UNIT, FUNC = Open(Kind.UNIT, "n_aaaaaaaa"), Open(Kind.FUNC, "n_bbbbbbbb")
ONE, TWO, THREE, OTHER = Let("x_a", 1001), Let("x_a", 1002), Let("x_a", 1003), Let("x_b", 2001)
NOP = Nop("p_aaaaaaaa")


def unit(*body: object) -> Scope:
    return Scope(Kind.UNIT, "n_aaaaaaaa", body)  # type: ignore[arg-type]


def func(*body: object) -> Scope:
    return Scope(Kind.FUNC, "n_bbbbbbbb", body)  # type: ignore[arg-type]


HANDS = (
    Hand("global only", Program((ONE, NOP)), (ONE,), 1001, ()),
    Hand("a nop changes nothing", Program((ONE, NOP)), (ONE, NOP), 1001, ()),
    Hand("an inner binding shadows", Program((ONE, unit(TWO))), (ONE, UNIT, TWO), 1002, ("n_aaaaaaaa",)),
    Hand("a binding holds from its own line on", Program((ONE, unit(TWO))), (ONE, UNIT), 1001, ("n_aaaaaaaa",)),
    Hand("a close brings the outer binding back", Program((ONE, unit(TWO))), (ONE, UNIT, TWO, Close()), 1001, ()),
    Hand("another variable does not shadow", Program((ONE, unit(OTHER))), (ONE, UNIT, OTHER), 1001, ("n_aaaaaaaa",)),
    Hand(
        "a closed sibling is invisible",
        Program((ONE, unit(TWO), func(NOP))),
        (ONE, UNIT, TWO, Close(), FUNC, NOP),
        1001,
        ("n_bbbbbbbb",),
    ),
    Hand(
        "the nearest open scope that binds decides, across scopes that do not",
        Program((ONE, unit(TWO, func(OTHER)))),
        (ONE, UNIT, TWO, FUNC, OTHER),
        1002,
        ("n_aaaaaaaa", "n_bbbbbbbb"),
    ),
    Hand(
        "two closes in a row",
        Program((ONE, unit(TWO, func(THREE)))),
        (ONE, UNIT, TWO, FUNC, THREE, Close(), Close()),
        1001,
        (),
    ),
    Hand(
        "a let behind a closed block rebinds nothing inside it",
        Program((unit(TWO), ONE)),
        (UNIT, TWO, Close(), ONE),
        1001,
        (),
    ),
    Hand("an empty block", Program((ONE, unit())), (ONE, UNIT, Close()), 1001, ()),
)


@pytest.mark.parametrize("hand", HANDS, ids=lambda hand: hand.claim)
def test_reference_oracle_gives_the_answer_worked_out_by_hand(hand):
    """Recursion over the tree finds value and open blocks."""
    assert Observation(hand.value, hand.names) == observe(hand.program, hand.cut)


@pytest.mark.parametrize("hand", HANDS, ids=lambda hand: hand.claim)
def test_event_oracle_gives_the_answer_worked_out_by_hand(hand):
    """The stack of scopes finds value and open blocks."""
    assert Observation(hand.value, hand.names) == observe_parsed(hand.prefix)


def test_the_example_of_the_specification():
    """Section 4.1: 5916, with unit and func open; one event earlier 8604, with area open too."""
    outer = ("n_qazwsxed", "n_plmoknij")
    assert Observation(5916, outer) == observe(SPEC_PROGRAM, AFTER_CLOSE)
    assert Observation(8604, (*outer, "n_uhbygvtf")) == observe(SPEC_PROGRAM, BEFORE_CLOSE)


def test_the_printed_example_of_the_specification_as_text():
    """The prefix as section 4.1 prints it, indentation and all, gives the same answer through the parser."""
    spec = RenderSpec(NOTATIONS["named_end"], NATURAL)
    parsed = parse_prefix(SPEC_PREFIX_NAMED_END, spec)
    assert Observation(5916, ("n_qazwsxed", "n_plmoknij")) == observe_parsed(parsed)


@pytest.mark.parametrize(
    ("count", "message"), [(-1, "after -1 events"), (12, "1 events behind"), (1000, "989 events behind")]
)
def test_a_cut_outside_the_program_is_an_error(count, message):
    """The specification's program has 11 events; there is nothing to observe before 0 or behind 11."""
    with pytest.raises(OracleError, match=message):
        observe(SPEC_PROGRAM, CutPoint(count, "q_aaaaaaaa", "x_a"))


def test_the_cut_may_be_the_very_end():
    """After the last event only the global scope is left."""
    assert Observation(1048, ()) == observe(SPEC_PROGRAM, CutPoint(11, "q_aaaaaaaa", "x_a"))


@pytest.mark.parametrize("count", [0, 3])
def test_an_unbound_variable_is_an_error_of_the_reference_oracle(count):
    """x_b is bound nowhere, x_a not yet at event 0; the message names the variable."""
    variable = "x_a" if count == 0 else "x_b"
    with pytest.raises(OracleError, match=rf"^{variable} is not bound at the cut$"):
        observe(SPEC_PROGRAM, CutPoint(count, "q_aaaaaaaa", variable))


@pytest.mark.parametrize(
    "events", [(), (OTHER,), (UNIT, ONE, Close())], ids=["nothing", "another variable", "only in a closed block"]
)
def test_an_unbound_variable_is_an_error_of_the_event_oracle(events):
    """A probe whose variable no open scope binds has no answer; the message names it."""
    with pytest.raises(OracleError, match=r"^x_a is not bound at the probe$"):
        observe_parsed(ParsedPrefix(events, Probe("q_aaaaaaaa", "x_a")))


def test_a_close_of_the_global_scope_is_an_error_of_the_event_oracle():
    """Events built by hand can underflow; the global scope never closes, and the message names the event."""
    with pytest.raises(OracleError, match=r"^event 1 closes the global scope$"):
        observe_parsed(ParsedPrefix((ONE, Close()), Probe("q_aaaaaaaa", "x_a")))
