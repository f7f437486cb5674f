"""The notations, as data: another notation is another entry and a golden file, no code.

`NOTATIONS` holds the five that are compared, `CHECKS` the one that only the manipulation check uses, `ALL_NOTATIONS`
both. Nothing is rendered or parsed here; `render`, `parse` and `prose` read these templates.

A template is a line of words. ``<kind>`` and ``<name>`` are the block's own, ``<end>`` is the lexicon's word,
``<alias>`` is the name that `RenderSpec.aliases` gives for the block's name; every other word stands for itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.lang.lexicon import Lexicon

KIND = "<kind>"
NAME = "<name>"
END = "<end>"
ALIAS = "<alias>"


@dataclass(frozen=True, slots=True)
class Notation:
    """How blocks open and close, and the one sentence a prompt needs about the closing line."""

    name: str
    opener: str
    closer: str
    closing_note: str

    @property
    def opener_words(self) -> tuple[str, ...]:
        """The opening template, word by word."""
        return tuple(self.opener.split(" "))

    @property
    def closer_words(self) -> tuple[str, ...]:
        """The closing template, word by word."""
        return tuple(self.closer.split(" "))


_ALWAYS_THE_SAME = "The closing line is the same for every block."

NOTATIONS: Mapping[str, Notation] = MappingProxyType(
    {
        notation.name: notation
        for notation in (
            Notation(
                name="braces",
                opener="<kind> <name> {",
                closer="}",
                closing_note=_ALWAYS_THE_SAME,
            ),
            Notation(
                name="generic_end",
                opener="<kind> <name>",
                closer="<end>",
                closing_note=_ALWAYS_THE_SAME,
            ),
            Notation(
                name="typed_end",
                opener="<kind> <name>",
                closer="<end> <kind>",
                closing_note="The closing line repeats the KIND of the block that it closes.",
            ),
            Notation(
                name="named_end",
                opener="<kind> <name>",
                closer="<end> <kind> <name>",
                closing_note="The closing line repeats the KIND and the NAME of the block that it closes.",
            ),
            Notation(
                name="padded_end",
                opener="<kind> <name>",
                closer="<end> junk z_aaaaaaaa",
                closing_note=_ALWAYS_THE_SAME,
            ),
        )
    }
)

MISNAMED = Notation(
    name="misnamed_end",
    opener="<kind> <name>",
    closer="<end> <kind> <alias>",
    closing_note="The closing line repeats the KIND of the block that it closes. OTHER is a name that no block has.",
)
"""Named ends whose name is well-formed and wrong. It belongs to no comparison of the experiment: it checks whether
names are read. `RenderSpec.aliases` says which name stands in the place of each block's own."""

CHECKS: Mapping[str, Notation] = MappingProxyType({MISNAMED.name: MISNAMED})
ALL_NOTATIONS: Mapping[str, Notation] = MappingProxyType({**NOTATIONS, **CHECKS})


@dataclass(frozen=True, slots=True)
class RenderSpec:
    """Everything that decides how a program is written.

    ``indent`` is the number of spaces per level; it has no meaning to a parser. ``aliases`` maps block names to the
    well-formed names that a notation with ``<alias>`` writes in their place; the other notations never read it.
    """

    notation: Notation
    lexicon: Lexicon
    indent: int = 0
    aliases: Mapping[str, str] = field(default_factory=dict)
