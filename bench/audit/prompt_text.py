"""A prompt taken apart again, from the text that is sent alone: sections, examples with their answers, the test.

Written against the layout of section 6.2, not against the code that builds prompts, so that the two can disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from bench.data.aliases import aliases_of
from bench.data.terms import CHECK_SYNTAX, WRITING_TASK
from bench.lang.errors import ParseError
from bench.lang.lexicon import lexicon_for
from bench.lang.parse import parse_prefix, parse_program
from bench.lang.syntax import ALL_NOTATIONS, RenderSpec
from bench.prompt.ast_table import TableError, parse_table
from bench.prompt.examples import example_bank

if TYPE_CHECKING:
    from bench.data.terms import Syntax, Task
    from bench.lang.ast import Program
    from bench.lang.events import ParsedPrefix


class LayoutError(ValueError):
    """A prompt that does not have the layout, or holds a source that does not parse."""


@dataclass(frozen=True, slots=True)
class PromptText:
    """The parts of one prompt as text. Sources end with LF, answers do not."""

    instructions: str
    syntax: tuple[str, ...]
    examples: tuple[tuple[str, str], ...]
    test: str


def split_prompt(instructions: str, message: str, task: Task) -> PromptText:
    """The parts of a prompt, which may have no example; LayoutError if it is laid out otherwise."""
    before, found_test, test = message.rpartition("\n\nTEST\n")
    head, found_examples, examples = before.partition("\n\nEXAMPLES\n")
    if not (head.startswith("SYNTAX\n") and found_test):
        raise LayoutError("expected the sections SYNTAX, EXAMPLES and TEST in this order")
    label = _label(task)
    if not (test.startswith(label) and test.endswith("\nAnswer:")):
        raise LayoutError(f"expected a test that begins with {label.strip()!r} and ends with 'Answer:'")
    return PromptText(
        instructions=instructions,
        syntax=tuple(head.split("\n")[1:]),
        examples=_split_examples(examples, task) if found_examples else (),
        test=test.removeprefix(label).removesuffix("Answer:"),
    )


def _label(task: Task) -> str:
    return "Table:\n" if task == WRITING_TASK else "Program prefix:\n"


@lru_cache(maxsize=512)
def _split_examples(text: str, task: Task) -> tuple[tuple[str, str], ...]:
    label = _label(task)
    examples = []
    for number, block in enumerate(text.split("\n\n"), start=1):
        title = f"Example {number}\n{label}"
        source, found, answer = block.removeprefix(title).partition("\nAnswer:\n")
        if not (block.startswith(title) and found):
            raise LayoutError(f"expected example {number} with its source and its answer")
        examples.append((source + "\n", answer))
    return tuple(examples)


@lru_cache(maxsize=16384)
def parsed_example(source: str, answer: str, task: Task, words: tuple[Syntax, int | None]) -> tuple[object, object]:
    """What an example asks and what it answers, free of notation: equal examples of two notations are equal values.

    ``words`` are the notation and the number of the nonce set (None for the natural words).
    """
    spec = RenderSpec(ALL_NOTATIONS[words[0]], lexicon_for(words[1]), aliases=_example_aliases(task, words[0]))
    if task == WRITING_TASK:
        return read_table(source), read_program(answer + "\n", spec)
    return read_prefix(source, spec), answer


@lru_cache(maxsize=32)
def _example_aliases(task: Task, syntax: Syntax) -> dict[str, str]:
    """The wrong names of all blocks in a task's bank; empty for the notations that do not use them."""
    if syntax != CHECK_SYNTAX:
        return {}
    families = [example.family for examples in example_bank(task) for example in examples]
    return {name: alias for family in families for name, alias in aliases_of(family).items()}


def read_prefix(text: str, spec: RenderSpec) -> ParsedPrefix:
    """The prefix that ``text`` is; LayoutError if it is none."""
    try:
        return parse_prefix(text, spec)
    except ParseError as error:
        raise LayoutError(f"prefix: {error}") from None


def read_program(text: str, spec: RenderSpec) -> Program:
    """The whole program that ``text`` is; LayoutError if it is none."""
    try:
        return parse_program(text, spec)
    except ParseError as error:
        raise LayoutError(f"program: {error}") from None


def read_table(text: str) -> Program:
    """The program that a table describes; LayoutError if it describes none."""
    try:
        return parse_table(text)
    except TableError as error:
        raise LayoutError(f"table: {error}") from None
