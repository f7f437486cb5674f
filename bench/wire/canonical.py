"""The one byte string of a JSON value (RFC 8785), so that equal documents have equal hashes.

Only the form; hashing is in ``hashing``, reading in ``strict_json``.
"""

from __future__ import annotations

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
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise CanonicalError(f"no canonical form: {error}") from None
    except UnicodeEncodeError:
        raise CanonicalError("no canonical form: an object key holds an unpaired surrogate") from None


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
