"""One small program in two notations, so that a reader sees what is compared; and how each notation ends a block.

Written by the project's own renderer: what is shown here is what models are shown.
"""

from __future__ import annotations

from bench.lang.ast import CutPoint, Kind, Let, Program, Scope
from bench.lang.lexicon import NATURAL
from bench.lang.reference_oracle import observe
from bench.lang.render import render_prefix
from bench.lang.syntax import ALIAS, ALL_NOTATIONS, END, KIND, NAME, NOTATIONS, RenderSpec
from bench.report.document import Block, Column, Listing, Table, say
from bench.report.notations import labelled

_PROGRAM = Program(
    (
        Let("x_a", 1048),
        Scope(
            Kind.UNIT,
            "n_outerxyz",
            (Let("x_a", 7321), Scope(Kind.FUNC, "n_innerxyz", (Let("x_a", 5916),)), Let("x_b", 2204)),
        ),
    )
)
_CUT = CutPoint(event_count=6, probe_id="q_showhere", variable="x_a")  # just after the func has closed
_SHOWN = ("generic_end", "named_end")
_EXAMPLES = {0: "no", 2: "two", 8: "eight", 16: "sixteen"}

GLOSSARY = (
    "Family: one base program with all its versions (notations, words, views); families are what is counted.",
    "Depth: how deep blocks nest. Filler: lines without effect before the closes. Cell: one depth with one filler.",
    "After closes: the program is cut just after some blocks have closed, which has changed the right answer.",
    "Before closes: the same program, cut just before these blocks close.",
    "Inner lookup: the innermost open block binds the variable. Outer lookup: a block further out does.",
    "Natural words: unit, func, let, end and so on. Nonce words: made-up ones in their place, explained to the model.",
)


def illustration_blocks(shots: int = 8) -> list[Block]:
    """The same prefix under B and D, the question and its answer; prompts show ``shots`` worked examples."""
    listings = [
        Listing(f"{labelled(name)}:", render_prefix(_PROGRAM, _CUT, RenderSpec(NOTATIONS[name], NATURAL)).rstrip("\n"))
        for name in _SHOWN
    ]
    seen = observe(_PROGRAM, _CUT)
    answer = (
        f"T1 asks for the value that x_a has at the probe: {seen.value}, for the inner block has closed. T2 asks for "
        f"the blocks still open there: {', '.join(seen.active_scopes)}. The real programs are deeper and longer, and "
        f"{_EXAMPLES.get(shots, shots)} worked examples stand before the question."
    )
    return [say("A small example of what is compared, in two of the notations:"), *listings, say(answer)]


def closers_table(syntaxes: list[str]) -> Table:
    """How each notation ends a block that starts with ``func name``."""
    words = {KIND: "func", NAME: "name", END: NATURAL.end, ALIAS: "another_name"}
    closers = {name: ALL_NOTATIONS[name].closer_words for name in syntaxes}
    rows = tuple(
        (labelled(name), " ".join(words.get(word, word) for word in closer)) for name, closer in closers.items()
    )
    columns = (Column("notation", numeric=False), Column("end of a block", numeric=False))
    return Table("The notations: how a block that starts with func name ends (natural words)", columns, rows)
