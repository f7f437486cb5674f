"""Hypothesis strategies for the project's values: plural nouns, each drawing valid values only."""

import string

from hypothesis import strategies as st

from bench.lang.ast import CutPoint, Kind, Let, Nop, Program, Scope, Stmt
from bench.lang.lexicon import NATURAL, NONCE_SETS, nonce
from bench.lang.names import MAX_VALUE, MIN_VALUE, VARIABLES
from bench.lang.syntax import NOTATIONS, RenderSpec
from bench.lang.walk import events_of


def suffixes() -> st.SearchStrategy[str]:
    """Eight lower-case letters."""
    return st.text(string.ascii_lowercase, min_size=8, max_size=8)


def lexicons() -> st.SearchStrategy:
    """The natural lexicon and the eight nonce sets."""
    return st.sampled_from([NATURAL, *(nonce(index) for index in range(NONCE_SETS))])


def render_specs() -> st.SearchStrategy[RenderSpec]:
    """Every notation, lexicon and a few indents."""
    return st.builds(RenderSpec, st.sampled_from(list(NOTATIONS.values())), lexicons(), st.sampled_from([0, 2, 3]))


@st.composite
def programs(draw: st.DrawFn, *, max_depth: int = 4, max_statements: int = 4) -> Program:
    """Well-formed programs: block names unique, no variable bound twice in a scope; possibly empty."""
    used: set[str] = set()

    def body(depth: int) -> tuple[Stmt, ...]:
        unbound = set(VARIABLES)
        statements: list[Stmt] = []
        for _ in range(draw(st.integers(0, max_statements))):
            what = draw(st.sampled_from(["let", "nop", "scope"]))
            if what == "let" and unbound:
                variable = draw(st.sampled_from(sorted(unbound)))
                unbound.remove(variable)
                statements.append(Let(variable, draw(st.integers(MIN_VALUE, MAX_VALUE))))
            elif what == "scope" and depth:
                name = "n_" + draw(suffixes().filter(lambda suffix: "n_" + suffix not in used))
                used.add(name)
                statements.append(Scope(draw(st.sampled_from(Kind)), name, body(depth - 1)))
            else:
                statements.append(Nop("p_" + draw(suffixes())))
        return tuple(statements)

    return Program(body(max_depth))


@st.composite
def cut_programs(draw: st.DrawFn, *, max_depth: int = 4) -> tuple[Program, CutPoint]:
    """A program and a cut in it at which the probed variable is bound."""
    drawn = draw(programs(max_depth=max_depth))
    variable = draw(st.sampled_from(VARIABLES))
    rest = tuple(stmt for stmt in drawn.body if not (isinstance(stmt, Let) and stmt.variable == variable))
    program = Program((Let(variable, draw(st.integers(MIN_VALUE, MAX_VALUE))), *rest))
    count = draw(st.integers(1, len(events_of(program))))
    return program, CutPoint(count, "q_" + draw(suffixes()), variable)
