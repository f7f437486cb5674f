"""Section 5.5 of the specification: what must hold on 10,000 small random programs.

The programs come from a generator of their own with a fixed seed, not from the dataset's, so that neither hides the
other's mistakes. Changes are made to trees by the code below, never by renderer or parser.
"""

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from bench.lang.ast import CutPoint, Kind, Let, Nop, Observation, Program, Scope, Stmt
from bench.lang.errors import ParseCode, ParseError
from bench.lang.event_oracle import observe_parsed
from bench.lang.lexicon import lexicon_for
from bench.lang.names import VARIABLES
from bench.lang.parse import parse_prefix, parse_program
from bench.lang.reference_oracle import observe
from bench.lang.render import render_prefix, render_program
from bench.lang.syntax import NOTATIONS, RenderSpec

COUNT = 10_000
SEED = 55
LEXICON_SETS = (None, *range(8))


@dataclass(frozen=True)
class Sample:
    """A program, a cut at which the probed variable is bound, and facts about it found by looking, not by an oracle."""

    program: Program
    cut: CutPoint
    lexicon_set: int | None
    visible_let: int  # event that binds the answer
    hidden_lets: frozenset[int]  # events of lets in blocks that are closed at the cut

    def spec(self, notation: str) -> RenderSpec:
        return RenderSpec(NOTATIONS[notation], lexicon_for(self.lexicon_set))

    @property
    def seen(self) -> Observation:
        return observe(self.program, self.cut)


class Dice:
    """Draws small programs with unique names and no variable bound twice in a scope."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def word(self) -> str:
        """Eight letters that no other word of this generator has, and that tell nothing."""
        self.names += 1
        shuffled = (self.names * 7_368_787) % 26**8
        return "".join(chr(97 + shuffled // 26**place % 26) for place in range(8))

    def body(self, depth: int, bound: set[str]) -> tuple[Stmt, ...]:
        statements: list[Stmt] = []
        for _ in range(self.random.randint(1 if depth else 0, 5)):
            what = self.random.random()
            free = [variable for variable in VARIABLES if variable not in bound]
            if what < 0.45 and free:
                variable = self.random.choice(free[:3])
                bound.add(variable)
                statements.append(Let(variable, self.random.randint(1000, 9999)))
            elif what < 0.8 and depth:
                kind = self.random.choice(list(Kind))
                statements.append(Scope(kind, "n_" + self.word(), self.body(depth - 1, set())))
            else:
                statements.append(Nop("p_" + self.word()))
        return tuple(statements)

    def sample(self, index: int) -> Sample:
        variable = self.random.choice(VARIABLES[:3])
        first = Let(variable, self.random.randint(1000, 9999))
        program = Program((first, *self.body(4, {variable})))
        places = list(walk(program.body, ()))
        count = self.random.randint(1, len(places))
        path = open_blocks(program, count)
        lets = [(at, place, stmt) for at, (place, stmt) in enumerate(places[:count]) if isinstance(stmt, Let)]
        visible = [
            (len(place), at) for at, place, stmt in lets if stmt.variable == variable and place == path[: len(place)]
        ]
        hidden = frozenset(at for at, place, _ in lets if place != path[: len(place)])
        cut = CutPoint(count, "q_" + self.word(), variable)
        return Sample(program, cut, LEXICON_SETS[index % 9], max(visible)[1], hidden)


def walk(body: tuple[Stmt, ...], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Stmt | None]]:
    """Every event with the names of the blocks around it; None stands for a close."""
    for stmt in body:
        yield path, stmt
        if isinstance(stmt, Scope):
            yield from walk(stmt.body, (*path, stmt.name))
            yield path, None


def open_blocks(program: Program, count: int) -> tuple[str, ...]:
    """The blocks open after ``count`` events, as the place of the next statement there would show them."""
    path, stmt = list(walk(program.body, ()))[count - 1]
    return (*path, stmt.name) if isinstance(stmt, Scope) else path


def mapped(program: Program, change: Callable[[int, Stmt], tuple[Stmt, ...]]) -> Program:
    """``program`` with each statement replaced by what ``change`` makes of it and of its event number."""
    events = iter(range(10**6))

    def body(statements: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in statements:
            at = next(events)
            if isinstance(stmt, Scope):
                inner = body(stmt.body)
                out.extend(change(at, stmt)[:-1])
                out.append(replace(stmt, body=inner))
                next(events)
            else:
                out.extend(change(at, stmt))
        return tuple(out)

    return Program(body(program.body))


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    dice = Dice(SEED)
    return [dice.sample(index) for index in range(COUNT)]


def test_the_samples_are_ten_thousand_and_varied(samples):
    """Deep and flat, answered from inside and outside, with hidden bindings: no claim below holds for want of cases."""
    assert COUNT == len(samples)
    depths = [len(open_blocks(sample.program, sample.cut.event_count)) for sample in samples]
    assert {0, 1, 2, 3, 4} == set(depths)
    assert sum(bool(sample.hidden_lets) for sample in samples) > COUNT // 4
    assert sum(sample.visible_let != 0 for sample in samples) > COUNT // 10
    assert sum(observe(s.program, s.cut).active_scopes == () for s in samples) < COUNT * 3 // 4


def test_both_oracles_agree_in_every_notation(samples):
    """Tree recursion and the stack over parsed text see the same value and the same open blocks."""
    for sample in samples:
        expected = sample.seen
        assert open_blocks(sample.program, sample.cut.event_count) == expected.active_scopes
        for notation in NOTATIONS:
            spec = sample.spec(notation)
            text = render_prefix(sample.program, sample.cut, spec)
            assert expected == observe_parsed(parse_prefix(text, spec)), text


def test_every_notation_gives_the_program_back(samples):
    """parse(render(p)) == p in all five notations."""
    for sample in samples:
        for notation in NOTATIONS:
            spec = sample.spec(notation)
            assert sample.program == parse_program(render_program(sample.program, spec), spec)


def test_renaming_all_variables_consistently_keeps_the_answer(samples):
    """Names of variables carry no meaning of their own."""
    renamed = dict(zip(VARIABLES, (*VARIABLES[1:], VARIABLES[0]), strict=True))
    for sample in samples:
        program = mapped(
            sample.program, lambda _, s: (replace(s, variable=renamed[s.variable]),) if isinstance(s, Let) else (s,)
        )
        assert program != sample.program
        assert sample.seen == observe(program, replace(sample.cut, variable=renamed[sample.cut.variable]))


def test_a_nop_anywhere_changes_no_answer(samples):
    """Put before some statement ahead of the cut, it only moves the cut by one event."""
    dice = random.Random(SEED + 1)
    for sample in samples:
        places = [at for at, (_, stmt) in enumerate(walk(sample.program.body, ())) if stmt is not None]
        where = dice.choice([at for at in places if at < sample.cut.event_count])
        program = mapped(sample.program, lambda at, s, where=where: (Nop("p_inserted"), s) if at == where else (s,))
        assert program != sample.program
        assert sample.seen == observe(program, replace(sample.cut, event_count=sample.cut.event_count + 1))


def test_values_in_closed_blocks_change_no_answer(samples):
    """All bindings of blocks closed at the cut are rewritten; nobody at the cut can tell."""
    for sample in samples:
        if not sample.hidden_lets:
            continue
        program = mapped(
            sample.program,
            lambda at, s, hidden=sample.hidden_lets: (replace(s, value=10_999 - s.value),) if at in hidden else (s,),
        )
        assert program != sample.program
        assert sample.seen == observe(program, sample.cut)


def test_rewriting_the_visible_binding_changes_the_value_and_nothing_else(samples):
    """The answer follows its own let; the open blocks stay. One other value moves no answer."""
    for sample in samples:
        other = 1000 + (sample.seen.value - 999) % 9000
        program = mapped(
            sample.program,
            lambda at, s, there=sample.visible_let, other=other: (replace(s, value=other),) if at == there else (s,),
        )
        assert replace(sample.seen, value=other) == observe(program, sample.cut)


def refused(text: str, spec: RenderSpec) -> ParseCode | None:
    """The code a whole program is refused with, or None."""
    try:
        parse_program(text, spec)
    except ParseError as error:
        return error.code
    return None


def another_kind(word: str, spec: RenderSpec) -> str:
    """A kind word of the same lexicon that is not ``word``."""
    return next(other for other in (spec.lexicon.unit, spec.lexicon.func) if other != word)


def rotated_name(word: str, _: RenderSpec) -> str:
    """A well-formed block name with the same letters."""
    return "n_" + word[3:] + word[2]


def reversed_word(word: str, _: RenderSpec) -> str:
    return word[::-1]


# notation, which word of the closing line is changed, how, code
TAMPERED = [
    ("named_end", 2, rotated_name, ParseCode.CLOSE_NAME_MISMATCH),
    ("named_end", 1, another_kind, ParseCode.CLOSE_KIND_MISMATCH),
    ("typed_end", 1, another_kind, ParseCode.CLOSE_KIND_MISMATCH),
    ("padded_end", 1, reversed_word, ParseCode.CLOSE_SUFFIX_MISMATCH),
    ("padded_end", 2, reversed_word, ParseCode.CLOSE_SUFFIX_MISMATCH),
]


@pytest.mark.parametrize(("notation", "position", "change", "code"), TAMPERED)
def test_a_tampered_closing_line_is_refused(samples, notation, position, change, code):
    """A well-formed but wrong name, kind or suffix in one closing line never parses."""
    dice = random.Random(SEED + 2)
    checked = 0
    for sample in samples:
        spec = sample.spec(notation)
        lines = render_program(sample.program, spec).split("\n")
        closes = [at for at, line in enumerate(lines) if line.split(" ")[0] == spec.lexicon.end]
        if not closes:
            continue
        at = dice.choice(closes)
        words = lines[at].split(" ")
        words[position] = change(words[position], spec)
        lines[at] = " ".join(words)
        assert code == refused("\n".join(lines), spec)
        checked += 1
    assert checked > COUNT // 2


def test_one_close_too_many_or_too_few_is_refused_and_an_open_prefix_is_not(samples):
    """Underflow at the end of a program, open blocks at its end; the same open blocks are normal in a prefix."""
    for sample, notation in zip(samples, itertools.cycle(NOTATIONS), strict=False):
        spec = sample.spec(notation)
        lines = render_program(sample.program, spec).splitlines(keepends=True)
        closes = [at for at, (_, stmt) in enumerate(walk(sample.program.body, ())) if stmt is None]
        if closes:
            assert ParseCode.UNDERFLOW == refused("".join([*lines, lines[closes[-1]]]), spec)
            cut_off = "".join(lines[: closes[-1]])
            assert ParseCode.UNCLOSED_SCOPE == refused(cut_off, spec)
            parse_prefix(cut_off + "probe q_aaaaaaaa x_a\n", spec)
