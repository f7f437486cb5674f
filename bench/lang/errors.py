"""The errors of the scope language: one for text that is not a program, one for a question without an answer.

No positions are computed and no text is read here.
"""

from __future__ import annotations

from enum import StrEnum


class ParseCode(StrEnum):
    """Why a line was refused; a grader stores the code of the first one."""

    UNKNOWN_STATEMENT = "unknown_statement"  # the first word begins no statement of this notation and lexicon
    MALFORMED_STATEMENT = "malformed_statement"  # let, nop, probe or opening line with wrong words
    MALFORMED_CLOSE = "malformed_close"  # closing line with too few or too many words
    BAD_SEPARATOR = "bad_separator"  # words must be separated by exactly one space
    BAD_BLOCK_NAME = "bad_block_name"
    BAD_VARIABLE = "bad_variable"
    BAD_VALUE = "bad_value"
    BAD_PAYLOAD = "bad_payload"
    BAD_PROBE_ID = "bad_probe_id"
    DUPLICATE_BLOCK_NAME = "duplicate_block_name"
    REDEFINITION = "redefinition"
    CLOSE_KIND_MISMATCH = "close_kind_mismatch"
    CLOSE_NAME_MISMATCH = "close_name_mismatch"
    CLOSE_SUFFIX_MISMATCH = "close_suffix_mismatch"
    UNDERFLOW = "underflow"  # a close in the global scope
    UNCLOSED_SCOPE = "unclosed_scope"  # end of a whole program with blocks still open
    TOO_DEEP = "too_deep"
    PROBE_IN_PROGRAM = "probe_in_program"
    MISSING_PROBE = "missing_probe"
    TEXT_AFTER_PROBE = "text_after_probe"


class ParseError(Exception):
    """The first place where a text leaves the grammar; ``line`` and ``column`` count characters from 1."""

    def __init__(self, code: ParseCode, line: int, column: int, message: str) -> None:
        super().__init__(f"line {line}, column {column}: {code}: {message}")
        self.code = code
        self.line = line
        self.column = column
        self.message = message


class OracleError(Exception):
    """A cut outside the program, an unbound variable or a close too many: a defect of the data, never of a model."""


class TreeError(ValueError):
    """A JSON value that is no program in the form of `bench.lang.tree`."""
