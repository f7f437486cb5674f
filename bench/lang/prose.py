"""The SYNTAX section of a prompt, generated from a notation and a lexicon: no condition name, no hint, no example.

Says only what a line looks like. What statements mean is the template's part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.lang.ast import Kind
from bench.lang.lexicon import NATURAL, PROBE_WORD
from bench.lang.syntax import ALIAS, END, KIND, NAME

if TYPE_CHECKING:
    from bench.lang.lexicon import Lexicon
    from bench.lang.syntax import RenderSpec

_PLACEHOLDERS = {KIND: "KIND", NAME: "NAME", ALIAS: "OTHER"}


def describe_syntax(spec: RenderSpec, *, with_probe: bool = True) -> tuple[str, ...]:
    """The lines of the section, without their LF; whole programs have no probe line (``with_probe=False``)."""
    lexicon = spec.lexicon
    probe = (f"Observation line: {PROBE_WORD} MARK VARIABLE",) if with_probe else ()
    return (
        "Each line holds one statement. Spaces at the start of a line and blank lines have no meaning.",
        f"KIND is {_one_of(tuple(lexicon.kind_word(kind) for kind in Kind))}. NAME is the unique name of a block.",
        f"Opening line of a block: {_form(spec.notation.opener, lexicon)}",
        f"Closing line of the innermost open block: {_form(spec.notation.closer, lexicon)}",
        spec.notation.closing_note,
        f"A let statement: {lexicon.let} VARIABLE VALUE",
        f"A nop statement: {lexicon.nop} WORD",
        *probe,
        *_word_meanings(lexicon),
    )


def _form(template: str, lexicon: Lexicon) -> str:
    """``template`` with the lexicon's word and capital letters where a block's own words stand."""
    for placeholder, shown in _PLACEHOLDERS.items():
        template = template.replace(placeholder, shown)
    return template.replace(END, lexicon.end)


def _word_meanings(lexicon: Lexicon) -> tuple[str, ...]:
    """What each nonce word stands for, alike in all notations; nothing to say in the natural lexicon."""
    if lexicon == NATURAL:
        return ()
    pairs = zip(lexicon.words, NATURAL.words, strict=True)
    return ("In this language " + ", ".join(f"{word} means {meaning}" for word, meaning in pairs) + ".",)


def _one_of(words: tuple[str, ...]) -> str:
    return ", ".join(words[:-1]) + " or " + words[-1]
