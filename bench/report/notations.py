"""The names a reader meets: letters of the notations, titles of tasks and views, in one fixed order.

Words only; no numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.plan.records import ALL_SYNTAXES

if TYPE_CHECKING:
    from collections.abc import Mapping

LETTERS: Mapping[str, str] = dict(zip(ALL_SYNTAXES, "ABCDEF", strict=True))

TASK_TITLES: Mapping[str, str] = {
    "scope_lookup": "T1 scope lookup",
    "active_stack": "T2 active stack",
    "ast_to_source": "T3 AST to source",
}

TASK_QUESTIONS: Mapping[str, str] = {
    "scope_lookup": "Which value does the probed variable have at this point? One integer. This is the main task.",
    "active_stack": "Which blocks are still open at this point, outermost first? A JSON array of names.",
    "ast_to_source": "Write the program that a table describes, in the notation asked for. A whole program.",
}

VIEW_TITLES: Mapping[str, str] = {
    "after_close": "after closes",
    "before_close": "before closes",
    "program": "whole program",
}


def labelled(syntax: str) -> str:
    """Letter and name, e.g. ``D named_end``; a notation without a letter keeps its name."""
    letter = LETTERS.get(syntax)
    return f"{letter} {syntax}" if letter else syntax


def lettered_contrast(contrast: str) -> str:
    """``named_end-generic_end`` as ``D − B``."""
    plus, _, minus = contrast.partition("-")
    return f"{LETTERS.get(plus, plus)} − {LETTERS.get(minus, minus)}"


def titled(task: str, view: str) -> str:
    """Task and view, e.g. ``T1 scope lookup, after closes``."""
    return f"{TASK_TITLES.get(task, task)}, {VIEW_TITLES.get(view, view)}"
