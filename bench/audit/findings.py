"""What an audit found: one row for each check, with how often it was asked and the first thing that failed it.

Counting only; what is checked is in the modules of checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

RowKind = Literal["must", "reported"]


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One row of ``audit.json``.

    A must row passes if nothing offended: ``number`` counts the offences among ``examined``. A reported row only shows
    ``number`` in its ``unit`` and, in ``detail``, what it was made from.
    """

    name: str
    kind: RowKind
    passed: bool | None
    examined: int
    number: float | None
    unit: str
    first_offender: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Tally:
    examined: int = 0
    offences: int = 0
    first_offender: str | None = None


class Findings:
    """Collects rows in the order in which their checks first speak."""

    def __init__(self) -> None:
        self._tallies: dict[str, _Tally] = {}
        self._reported: list[AuditRow] = []

    def must(self, name: str, holds: bool, offender: str) -> None:  # noqa: FBT001  # the checked fact itself
        """Count one thing that was checked; ``offender`` says which, and is kept if it is the first to fail."""
        tally = self._tallies.setdefault(name, _Tally())
        tally.examined += 1
        if not holds:
            tally.offences += 1
            tally.first_offender = tally.first_offender or offender

    def report(self, name: str, number: float | None, unit: str, *, examined: int, detail: dict[str, Any]) -> None:
        """Add a row that is shown and judged by nobody."""
        shown = None if number is None else round(number, 4)
        self._reported.append(AuditRow(name, "reported", None, examined, shown, unit, None, detail))

    def rows(self) -> tuple[AuditRow, ...]:
        """All rows: first those that must hold, then those that are shown."""
        must = (
            AuditRow(
                name=name,
                kind="must",
                passed=tally.offences == 0,
                examined=tally.examined,
                number=tally.offences,
                unit="offences",
                first_offender=tally.first_offender,
            )
            for name, tally in self._tallies.items()
        )
        return (*must, *self._reported)
