"""The shape of one right answer. Who may read and write them is in `gold`."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ConfigDict


@dataclass(frozen=True, slots=True)
class GoldRow:
    """One case of ``gold.jsonl``: exactly one of the three answers is set, by the case's task.

    ``ast`` is the program as JSON, in the form `docs/run-format.md` describes.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    case_id: str
    value: int | None = None
    stack: list[str] | None = None
    ast: list[object] | None = None
