"""Reads and writes JSON without guessing (section 8.7): what cannot be kept exactly or is ambiguous is refused.

The standard decoder does the parsing; this module adds the rules it lacks. No canonical form and no hashing here.

    number with neither fraction nor exponent   int, exact at any size
    any other number                            decimal.Decimal, exact
    NaN, Infinity, a lone surrogate, a repeated key, depth or length beyond the limits, trailing input   JsonError
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, NoReturn, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

JsonValue: TypeAlias = "bool | int | Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"

MAX_DEPTH = 128
MAX_NUMBER_CHARS = 1024

_STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
# a whole pair, or (group 1) half of one, or any other escape, so that `\\ud800` (an escaped backslash) is passed over
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


class JsonError(ValueError):
    """Text that is not JSON as this project reads it. ``offset`` counts characters, ``None`` where it is unknown."""

    def __init__(self, offset: int | None, reason: str) -> None:
        super().__init__(reason if offset is None else f"{reason} at offset {offset}")
        self.offset = offset
        self.reason = reason


def loads(data: bytes | str, *, max_depth: int = MAX_DEPTH) -> JsonValue:
    """The value of one JSON text; integers as ``int``, all other numbers as ``Decimal``.

    Raises:
        JsonError: for anything outside RFC 8259, and for the rules of section 8.7 listed above.
    """
    text = _decoded(data)
    _refuse_depth(text, max_depth)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonError(error.pos, error.msg.removesuffix(" at")) from None
    except RecursionError:
        raise JsonError(None, f"nested deeper than this process can follow (limit asked for: {max_depth})") from None
    if _SURROGATE_ESCAPE.search(text):
        _refuse_lone_surrogates(text)
    return cast("JsonValue", value)


def dumps(value: object) -> str:
    """Compact JSON in insertion order, not escaped beyond need; ``Decimal`` keeps its digits, ``float`` its repr.

    Raises:
        JsonError: for a value JSON cannot hold: NaN, a lone surrogate, a key that is no string, a foreign type.
    """
    text = "".join(_pieces(value))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise JsonError(None, "a string holds an unpaired surrogate") from None
    return text


def _decoded(data: bytes | str) -> str:
    try:
        if isinstance(data, bytes):
            return data.decode()
        data.encode()
    except UnicodeDecodeError as error:
        raise JsonError(error.start, f"not UTF-8: {error.reason}") from None
    except UnicodeEncodeError as error:
        raise JsonError(error.start, "unpaired surrogate") from None
    return data


def _refuse_depth(text: str, max_depth: int) -> None:
    if text.count("[") + text.count("{") <= max_depth:
        return
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        token = match.group()
        if token in ("[", "{"):
            depth += 1
            if depth > max_depth:
                raise JsonError(match.start(), f"nested deeper than {max_depth}")
        elif token in ("]", "}"):
            depth -= 1


def _refuse_lone_surrogates(text: str) -> None:
    for match in _ESCAPE.finditer(text):
        if match.group(1) is not None:
            raise JsonError(match.start(), "unpaired surrogate")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise JsonError(None, f"key {repeated[:80]!r} occurs twice in one object")
    return value


def _integer(text: str) -> int:
    _refuse_long_number(text)
    return int(text)


def _decimal(text: str) -> Decimal:
    _refuse_long_number(text)
    try:
        return Decimal(text)
    except InvalidOperation:
        raise JsonError(None, f"number with an exponent beyond reach: {text[:40]}") from None


def _refuse_long_number(text: str) -> None:
    if len(text) > MAX_NUMBER_CHARS:
        raise JsonError(None, f"number of {len(text)} characters, at most {MAX_NUMBER_CHARS} are read")


def _refuse_constant(text: str) -> NoReturn:
    raise JsonError(None, f"{text} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_decimal, parse_constant=_refuse_constant
)


def _pieces(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield encode_basestring(value)
    elif isinstance(value, dict):
        yield from _object_pieces(value)
    elif isinstance(value, list | tuple):
        yield from _array_pieces(value)
    else:
        yield _scalar(value)


def _object_pieces(value: dict[object, object]) -> Iterator[str]:
    before = "{"
    for key, member in value.items():
        if not isinstance(key, str):
            raise JsonError(None, f"an object key is a {type(key).__name__}, not a string")
        yield before
        yield encode_basestring(key)
        yield ":"
        yield from _pieces(member)
        before = ","
    yield "}" if value else "{}"


def _array_pieces(value: list[object] | tuple[object, ...]) -> Iterator[str]:
    before = "["
    for member in value:
        yield before
        yield from _pieces(member)
        before = ","
    yield "]" if value else "[]"


def _scalar(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return int.__repr__(value)
        case Decimal() if value.is_finite():
            return str(value)
        case float() if math.isfinite(value):
            return float.__repr__(value)
    raise JsonError(None, f"JSON has no form for {type(value).__name__} {value!r:.40}")
