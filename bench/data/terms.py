"""The closed sets of words that name tasks, views, notations and regimes in every file of a run."""

from __future__ import annotations

from typing import Literal

Task = Literal["scope_lookup", "active_stack", "ast_to_source"]
View = Literal["before_close", "after_close", "program"]
Syntax = Literal["braces", "generic_end", "typed_end", "named_end", "padded_end", "misnamed_end"]
Lexical = Literal["natural", "nonce"]

TASKS: tuple[Task, ...] = ("scope_lookup", "active_stack", "ast_to_source")
SYNTAXES: tuple[Syntax, ...] = ("braces", "generic_end", "typed_end", "named_end", "padded_end")
CHECK_SYNTAX: Syntax = "misnamed_end"
"""The notation of the manipulation check: none of the five, planned only where a preset names it."""
ALL_SYNTAXES: tuple[Syntax, ...] = (*SYNTAXES, CHECK_SYNTAX)
WRITING_TASK: Task = "ast_to_source"
