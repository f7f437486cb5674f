"""Wrong names for blocks: what the closing lines of the manipulation check say in place of a block's own name.

Drawn from the family alone, so every case of a family, and an example in every prompt, has the same ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.data.generate import draw_names
from bench.data.java_random import JavaRandom
from bench.data.seeds import child_seed
from bench.lang.events import Open
from bench.lang.walk import events_of

if TYPE_CHECKING:
    from bench.data.family import Family


def aliases_of(family: Family) -> dict[str, str]:
    """For each block name of the program, in order of opening, a well-formed name that no block of it has.

    No two blocks share an alias. The draw is a child of the family's identifier seed; a name that the program already
    uses is drawn again.
    """
    own = [event.name for event in events_of(family.program) if isinstance(event, Open)]
    random = JavaRandom(child_seed(family.seeds["identifier"], "aliases", 0))
    return dict(zip(own, draw_names("n_", len(own), random, without=own), strict=True))
