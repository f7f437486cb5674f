"""How an episode is laid out: instructions, SYNTAX, EXAMPLES, TEST. Text in, text out; no answers of test cases.

The layout is section 6.2 of the specification, word for word for T1; T2 and T3 change the request only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from bench.data.aliases import aliases_of
from bench.data.expand import cut_of
from bench.data.terms import CHECK_SYNTAX, WRITING_TASK
from bench.data.uniform import with_one_kind
from bench.lang.lexicon import NATURAL, lexicon_for
from bench.lang.prose import describe_syntax
from bench.lang.reference_oracle import observe
from bench.lang.render import render_prefix, render_program
from bench.lang.syntax import ALL_NOTATIONS, RenderSpec
from bench.prompt.ast_table import family_table
from bench.prompt.examples import shown_examples
from bench.prompt.style import STANDARD
from bench.wire.hashing import hash_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.data.expand import Case
    from bench.data.family import Family
    from bench.data.terms import Syntax, Task
    from bench.lang.ast import CutPoint
    from bench.prompt.examples import Example
    from bench.prompt.style import PromptStyle

PROMPT_VERSION = "1"

SYNTAX_TITLE, EXAMPLES_TITLE, TEST_TITLE = "SYNTAX", "EXAMPLES", "TEST"
ANSWER_LABEL = "Answer:"


@dataclass(frozen=True, slots=True)
class PromptParts:
    """The four parts of a prompt. ``instructions`` travel apart; the other three, joined, are the user's message."""

    instructions: str
    syntax: str
    examples: str
    test: str

    @property
    def message(self) -> str:
        """The one user message."""
        return self.syntax + self.examples + self.test


def source_label(task: Task) -> str:
    """The line above an example's or the test's source."""
    return "Table:" if task == WRITING_TASK else "Program prefix:"


def example_title(number: int) -> str:
    """The line above example ``number``, counted from 1."""
    return f"Example {number}"


def prompt_parts(case: Case, family: Family, syntax: Syntax, style: PromptStyle = STANDARD) -> PromptParts:
    """The prompt of one trial; equal for all its replicates."""
    task = case.task
    spec = render_spec(syntax, case.lexicon_set, style=style, aliases=case.aliases)
    return PromptParts(
        instructions=instructions(task),
        syntax=syntax_section(task, syntax, case.lexicon_set),
        examples=examples_section(task, syntax, case.lexicon_set, case.example_set, style=style),
        test=f"{TEST_TITLE}\n{_question(task, family, case.cut, spec)}",
    )


def render_spec(
    syntax: Syntax, lexicon_set: int | None, *, style: PromptStyle = STANDARD, aliases: Mapping[str, str] | None = None
) -> RenderSpec:
    """How programs of one notation and lexicon are written; ``aliases`` are read by the manipulation check alone."""
    own = aliases if syntax == CHECK_SYNTAX and aliases is not None else {}
    return RenderSpec(ALL_NOTATIONS[syntax], lexicon_for(lexicon_set), style.indent, own)


@cache
def instructions(task: Task) -> str:
    """The part above SYNTAX, without a final LF."""
    return files("bench.prompt").joinpath("templates", f"{task}.txt").read_text(encoding="utf-8").removesuffix("\n")


@lru_cache(maxsize=128)
def syntax_section(task: Task, syntax: Syntax, lexicon_set: int | None) -> str:
    """The SYNTAX section with the blank line behind it."""
    lines = describe_syntax(render_spec(syntax, lexicon_set), with_probe=task != WRITING_TASK)
    return "\n".join((SYNTAX_TITLE, *lines, "", ""))


@lru_cache(maxsize=512)
def examples_section(
    task: Task, syntax: Syntax, lexicon_set: int | None, example_set: int, *, style: PromptStyle = STANDARD
) -> str:
    """The EXAMPLES section with the blank line behind it: examples with their answers. Nothing where none is shown."""
    shown = shown_examples(task, example_set, style.shots)
    examples = (
        f"{example_title(number)}\n{_solved(task, example, (syntax, lexicon_set), style)}\n\n"
        for number, example in enumerate(shown, start=1)
    )
    return f"{EXAMPLES_TITLE}\n" + "".join(examples) if shown else ""


def _solved(task: Task, example: Example, words: tuple[Syntax, int | None], style: PromptStyle) -> str:
    family = example.family if style.kind is None else with_one_kind(example.family, style.kind)
    aliases = aliases_of(family) if words[0] == CHECK_SYNTAX else None
    spec = render_spec(*words, style=style, aliases=aliases)
    cut = cut_of(family, example.view)
    return f"{_question(task, family, cut, spec)}\n{_answer(task, family, cut, spec)}"


def _question(task: Task, family: Family, cut: CutPoint | None, spec: RenderSpec) -> str:
    """Source and the answer's label, on which the line ends without LF."""
    source = family_table(family) if cut is None else render_prefix(family.program, cut, spec)
    return f"{source_label(task)}\n{source}{ANSWER_LABEL}"


def _answer(task: Task, family: Family, cut: CutPoint | None, spec: RenderSpec) -> str:
    """An example's answer as the model is to write it, without a final LF."""
    if cut is None:
        return render_program(family.program, spec).removesuffix("\n")
    seen = observe(family.program, cut)
    return json.dumps(list(seen.active_scopes)) if task == "active_stack" else str(seen.value)


def template_hash(task: Task) -> str:
    """The hash of a task's fixed text: version, instructions, titles and labels."""
    titles = [SYNTAX_TITLE, EXAMPLES_TITLE, example_title(1), TEST_TITLE, source_label(task), ANSWER_LABEL]
    return hash_document({"version": PROMPT_VERSION, "instructions": instructions(task), "titles": titles})


def notation_hash(syntax: Syntax) -> str:
    """The hash of a notation's templates and of the text that describes it, in natural words."""
    spec = RenderSpec(ALL_NOTATIONS[syntax], NATURAL)
    sections = [list(describe_syntax(spec, with_probe=shown)) for shown in (True, False)]
    return hash_document({"opener": spec.notation.opener, "closer": spec.notation.closer, "sections": sections})


def lexicon_hash(lexicon_set: int | None) -> str:
    """The hash of a lexicon's six words."""
    return hash_document(list(lexicon_for(lexicon_set).words))
