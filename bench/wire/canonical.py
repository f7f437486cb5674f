"""The one byte string of a JSON value (RFC 8785), so that equal documents have equal hashes.

Only the form; hashing is in ``hashing``, reading in ``strict_json``.
"""

from __future__ import annotations

import json
from typing import Any

import rfc8785


class CanonicalError(ValueError):
    """A value that has no canonical form here: it must not be hashed."""


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of a document without decimals, floats or integers beyond 2^53 - 1.

    A float's text depends on who prints it and a large integer on who reads it; seeds are therefore decimal strings.

    Raises:
        CanonicalError: naming the place (``$.cells[3].seed``) where a value does not qualify.
    """
    if place := _place_of_float(value, "$"):
        raise CanonicalError(f"{place} is a float: hashed documents hold strings or integers instead")
    return canonical_with_floats(value)


def canonical_with_floats(value: Any) -> bytes:
    """The RFC 8785 bytes of a value in which floats are allowed: request bodies carry ``temperature``.

    Raises:
        CanonicalError: for integers beyond 2^53 - 1, NaN, lone surrogates, keys that are no strings, foreign types.
    """
    try:
        return _PLAIN.encode(value).encode() if _is_plain(value) else rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise CanonicalError(f"no canonical form: {error}") from None
    except UnicodeEncodeError:
        raise CanonicalError("no canonical form: a string holds an unpaired surrogate") from None


# For what `_is_plain` lets through, the standard library writes the RFC's bytes, in a seventh of the time.
_PLAIN = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
_MAX_INTEGER = 2**53 - 1


def _is_plain(value: object) -> bool:
    """Whether the RFC's two peculiarities, number texts and the UTF-16 order of keys, cannot matter to a value."""
    if type(value) is str or type(value) is bool or value is None:
        return True
    if type(value) is int:
        return -_MAX_INTEGER <= value <= _MAX_INTEGER
    if type(value) is dict:
        return all(type(key) is str and key.isascii() for key in value) and all(map(_is_plain, value.values()))
    return isinstance(value, list | tuple) and all(map(_is_plain, value))


def _place_of_float(value: Any, place: str) -> str | None:
    if isinstance(value, float):
        return place
    if isinstance(value, dict):
        members = ((f"{place}.{key}", member) for key, member in value.items())
    elif isinstance(value, list | tuple):
        members = ((f"{place}[{index}]", member) for index, member in enumerate(value))
    else:
        return None
    return next((found for where, member in members if (found := _place_of_float(member, where))), None)
