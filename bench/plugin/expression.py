"""The boolean language of ``-m`` and ``-k``, for trials that are not collected.

Under xdist the controller never collects, and trials that are already terminal are not collected at all; what a
selection means for them has to be known all the same. No pytest in here: text in, truth out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from collections.abc import Callable

TOKEN = re.compile(r"\s*(?:(?P<bracket>[()])|(?P<word>[\w:+\-.\[\]\\/]+)|(?P<other>\S))")


@dataclass(frozen=True, slots=True)
class Name:
    """One word of the expression."""

    word: str


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Both:
    """``left and right``."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Either:
    """``left or right``."""

    left: Expression
    right: Expression


Expression = Name | Not | Both | Either


class ExpressionError(ValueError):
    """The text is no expression; the message says where."""


def parse(text: str) -> Expression:
    """The expression of names, ``and``, ``or``, ``not`` and parentheses in a text, as pytest reads it.

    Raises:
        ExpressionError: the text is none; the message quotes it.
    """
    tokens = _tokens(text)
    result, position = _either(tokens, 0)
    if position != len(tokens):
        raise ExpressionError(f"unexpected {tokens[position]!r} in {text!r}")
    return result


def holds(expression: Expression, matches: Callable[[str], bool]) -> bool:
    """Whether the expression is true where ``matches`` tells the truth of each name."""
    match expression:
        case Name(word):
            return matches(word)
        case Not(operand):
            return not holds(operand, matches)
        case Both(left, right):
            return holds(left, matches) and holds(right, matches)
        case Either(left, right):
            return holds(left, matches) or holds(right, matches)
        case _:
            assert_never(expression)


def words(expression: Expression) -> frozenset[str]:
    """Every name in the expression."""
    return asserted(expression) | asserted(Not(expression))


def asserted(expression: Expression) -> frozenset[str]:
    """The names that stand un-negated: under an even number of ``not``."""
    match expression:
        case Name(word):
            return frozenset({word})
        case Not(operand):
            return _negated(operand)
        case Both(left, right) | Either(left, right):
            return asserted(left) | asserted(right)
        case _:
            assert_never(expression)


def _negated(expression: Expression) -> frozenset[str]:
    match expression:
        case Name():
            return frozenset()
        case Not(operand):
            return asserted(operand)
        case Both(left, right) | Either(left, right):
            return _negated(left) | _negated(right)
        case _:
            assert_never(expression)


def _tokens(text: str) -> list[str]:
    found = []
    for match in TOKEN.finditer(text):
        if match["other"]:
            raise ExpressionError(f"unexpected {match['other']!r} at column {match.start('other') + 1} of {text!r}")
        found.append(match["bracket"] or match["word"])
    return found


def _either(tokens: list[str], position: int) -> tuple[Expression, int]:
    left, position = _both(tokens, position)
    while tokens[position : position + 1] == ["or"]:
        right, position = _both(tokens, position + 1)
        left = Either(left, right)
    return left, position


def _both(tokens: list[str], position: int) -> tuple[Expression, int]:
    left, position = _not(tokens, position)
    while tokens[position : position + 1] == ["and"]:
        right, position = _not(tokens, position + 1)
        left = Both(left, right)
    return left, position


def _not(tokens: list[str], position: int) -> tuple[Expression, int]:
    if position == len(tokens):
        raise ExpressionError("the expression ends where a name is expected")
    token = tokens[position]
    if token == "not":  # noqa: S105 - a word of the expression, no secret
        operand, position = _not(tokens, position + 1)
        return Not(operand), position
    if token == "(":  # noqa: S105 - a bracket, no secret
        inner, position = _either(tokens, position + 1)
        if tokens[position : position + 1] != [")"]:
            raise ExpressionError("a closing parenthesis is missing")
        return inner, position + 1
    if token in {")", "and", "or"}:
        raise ExpressionError(f"unexpected {token!r} where a name is expected")
    return Name(token), position + 1
