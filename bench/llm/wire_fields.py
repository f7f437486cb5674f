"""One field of a decoded JSON object, typed: absent and null are ``None``, another type is an error.

Only for objects a server sent; documents of our own have pydantic models.
"""

from __future__ import annotations

from typing import Any, TypeVar

Wanted = TypeVar("Wanted")


class WrongShapeError(Exception):
    """A field that is needed and has a type from which its meaning could only be guessed."""


def optional(fields: dict[str, Any], name: str, kind: type[Wanted]) -> Wanted | None:
    """The field's value, ``None`` if absent or null. ``True`` is no integer, and neither is 7.0.

    Raises:
        WrongShapeError: if the value has another type.
    """
    value = fields.get(name)
    if value is None:
        return None
    if type(value) is not kind:
        raise WrongShapeError(f"field {name!r}: expected {kind.__name__}, got {type(value).__name__}")
    return value


def needed(fields: object, name: str, kind: type[Wanted]) -> Wanted:
    """The field's value.

    Raises:
        WrongShapeError: if ``fields`` is no object, or the field is absent, null or of another type.
    """
    if not isinstance(fields, dict):
        raise WrongShapeError(f"expected an object with {name!r}, got {type(fields).__name__}")
    value = optional(fields, name, kind)
    if value is None:
        raise WrongShapeError(f"field {name!r} is missing")
    return value
