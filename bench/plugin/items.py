"""One item per pending trial, from schedule rows alone; no prompt is built here.

pytest's own parametrization costs 14 MB for 5,120 items. These items keep a position and share everything else: the
marks of a cell, the fixture plan of a function. Measured: 4 MB and a quarter of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench.plugin.naming import FUNCTIONS, item_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, MutableMapping

    from bench.plan.records import ScheduleRow
    from bench.plugin.naming import TrialNames

SHARED_NO_KEYWORDS: set[str] = set()


class TrialItem(pytest.Function):
    """The item of the trial at ``position`` of the schedule."""

    def __init__(
        self,
        name: str,
        parent: pytest.Module,
        *,
        position: int,
        marks: list[pytest.Mark],
        place: tuple[str, int | None] | None = None,
        **kwargs: Any,
    ) -> None:
        """``place``: file and line of the evaluation function, if they are known already."""
        super().__init__(name, parent, **kwargs)
        self.position = position
        self._place = place
        self.own_markers = marks
        self.extra_keyword_matches = SHARED_NO_KEYWORDS
        # as pytest leaves an item after its run: it makes a request just before the item runs and drops it again
        self._request = False  # type: ignore[assignment]
        self.funcargs = None  # type: ignore[assignment]

    @property
    def keywords(self) -> MutableMapping[str, Any]:
        """The item's name and marks by name."""
        return {self.name: True, **{mark.name: mark for mark in self.own_markers}}

    @keywords.setter
    def keywords(self, value: MutableMapping[str, Any]) -> None:
        """Ignore the mapping pytest prepares for every item: thousands of them would be kept for nothing."""

    @property
    def location(self) -> tuple[str, int | None, str]:
        """File, line and name; pytest would look the function up in its source anew for every item."""
        return super().location if self._place is None else (*self._place, self.name)

    def add_marker(self, marker: str | pytest.MarkDecorator, append: bool = True) -> None:  # noqa: FBT001, FBT002 - pytest's signature
        """Add a mark to this item alone; the list it shares with its cell stays as it is."""
        self.own_markers = list(self.own_markers)
        super().add_marker(marker, append)

    def _initrequest(self) -> None:
        if getattr(self, "_request", None) is False:
            super()._initrequest()


class ItemFactory:
    """Makes the items of one evaluation function."""

    def __init__(self, rows: Iterable[ScheduleRow], names: TrialNames) -> None:
        self._rows: dict[str, list[ScheduleRow]] = {function: [] for function in FUNCTIONS}
        for row in rows:
            self._rows[f"test_{row.task}"].append(row)
        self._names = names
        self._marks: dict[tuple[str, ...], list[pytest.Mark]] = {}

    def make(self, module: pytest.Module, name: str, function: Callable[..., object]) -> list[TrialItem]:
        """The items of this function in schedule order; none if no trial of its task is pending."""
        own = list(getattr(function, "pytestmark", []))
        items: list[TrialItem] = []
        shared: dict[str, Any] = {"callobj": function}
        for row in self._rows[name]:
            marks = self._marks_of(row, own)
            item = TrialItem.from_parent(module, name=item_name(row), position=row.position, marks=marks, **shared)
            if "place" not in shared:  # the same for every trial; pytest would read signature and source anew
                shared |= {"fixtureinfo": item._fixtureinfo, "place": item.location[:2]}  # noqa: SLF001
            items.append(item)
        return items

    def _marks_of(self, row: ScheduleRow, own: list[pytest.Mark]) -> list[pytest.Mark]:
        names = self._names.markers(row)
        if names not in self._marks:
            present = {mark.name for mark in own}
            added = [getattr(pytest.mark, name).mark for name in names if name not in present]
            self._marks[names] = [*own, *added]
        return self._marks[names]


def in_schedule_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """Trials first, by position, whatever another plugin did to their order; other tests keep theirs."""
    trials = sorted((item for item in items if isinstance(item, TrialItem)), key=lambda item: item.position)
    return [*trials, *(item for item in items if not isinstance(item, TrialItem))]
