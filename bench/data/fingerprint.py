"""The generator's identity: its version and what it answers to a fixed vector file. Never its source bytes.

A refactoring that draws the same families leaves the fingerprint alone; any other change is seen, meant or not.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from bench.data.dataset import Cells, draw_families
from bench.data.family import family_to_json
from bench.data.generate import GENERATOR_VERSION
from bench.wire.hashing import hash_document


@cache
def generator_hash() -> str:
    """The hash of the generator's version and of the families and sets it draws for ``generator_vectors.json``."""
    vectors = json.loads(files("bench.data").joinpath("generator_vectors.json").read_text(encoding="utf-8"))
    answers = [_answer(vector) for vector in vectors["vectors"]]
    return hash_document({"version": GENERATOR_VERSION, "answers": answers})


def _answer(vector: dict[str, object]) -> list[object]:
    master_seed = int(str(vector["master_seed"]))
    cells = Cells(**vector["cells"])  # type: ignore[arg-type]  # the file's own objects have the fields of Cells
    return [
        [family_to_json(family), choice.lexicon_set, choice.example_set]
        for family, choice in draw_families(cells, master_seed)
    ]
