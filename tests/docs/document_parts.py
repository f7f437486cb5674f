"""The parts of ``docs/protocol.md`` that programs make: an example in five notations, T3's table, a whole prompt.

Each stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``; nothing else in a document is made here.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from bench.lang.lexicon import NATURAL
from bench.lang.render import render_prefix
from bench.lang.syntax import NOTATIONS, RenderSpec
from bench.plan.plan_files import Plan
from bench.prompt.ast_table import family_table
from bench.prompt.build import build_request
from tests.lang.example_programs import AFTER_CLOSE, SPEC_PROGRAM
from tests.planned import plan_into

CALIBRATION = Path(__file__).parents[2] / "docs" / "calibration-table.md"
NO_CALIBRATION = (
    "Not computed yet. `python benchmarks/calibration.py --out docs/calibration-table.md` writes the table that stands "
    "here."
)
SHOWN_NOTATIONS = ("braces", "generic_end", "typed_end", "named_end", "padded_end")
TABLE_FAMILY, PROMPT_FAMILY, PROMPT_NOTATION = "smoke-s0", "smoke-s2", "named_end"


def made_parts(folder: Path) -> dict[str, str]:
    """The text of every generated part, by name, without a final LF; a smoke plan is written into ``folder``."""
    plan_into(folder, "smoke", "p1")
    plan = Plan.open(folder)
    return {
        "notations": _notations(),
        "table": _fenced(family_table(plan.family(TABLE_FAMILY))),
        "prompt": _fenced(_prompt(plan)),
        "calibration": _calibration(),
    }


def shown_parts(document: str) -> dict[str, str]:
    """What stands between the marks of a document, by name."""
    return {name: text.strip("\n") for name, text in _PART.findall(document)}


def with_parts(document: str, wanted: Mapping[str, str]) -> str:
    """The document with these texts between its marks."""
    return _PART.sub(lambda found: f"<!-- generated: {found[1]} -->\n\n{wanted[found[1]]}\n\n<!-- end -->", document)


_PART = re.compile(r"<!-- generated: (\w+) -->\n(.*?)<!-- end -->", re.DOTALL)


def _notations() -> str:
    """The specification's example (section 4.1) as a prefix, each with the notation's name above it."""
    shown = {name: RenderSpec(NOTATIONS[name], NATURAL) for name in SHOWN_NOTATIONS}
    return "\n\n".join(
        f"`{name}`\n\n{_fenced(render_prefix(SPEC_PROGRAM, AFTER_CLOSE, spec))}" for name, spec in shown.items()
    )


def _prompt(plan: Plan) -> str:
    """What is sent for one trial: instructions, a line of hyphens, the user's message."""
    row = next(
        row
        for row in plan.schedule
        if (row.family_id, row.task, row.syntax) == (PROMPT_FAMILY, "scope_lookup", PROMPT_NOTATION)
    )
    request = build_request(plan, row)
    (message,) = request.input
    return f"{request.instructions}\n----------\n{message.content}\n"


def _calibration() -> str:
    return CALIBRATION.read_text(encoding="utf-8").strip() if CALIBRATION.is_file() else NO_CALIBRATION


def _fenced(text: str) -> str:
    return f"```text\n{text}```"
