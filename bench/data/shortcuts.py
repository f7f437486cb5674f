"""Rules of thumb that answer a lookup without tracking scopes, to show that none of them works.

A rule sees the events of a prefix as (mark, value) pairs, marks as in `bench.data.structure`, and returns a value or
None where the rule gives no answer. No gold is read here; `bench.audit` compares.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.lang.ast import Let
from bench.lang.events import Open
from bench.lang.walk import events_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bench.lang.ast import CutPoint, Program

Marks = tuple[tuple[str, int], ...]


def marks_of(program: Program, cut: CutPoint) -> Marks:
    """The prefix as marks: opens and closes with value 0, lets with theirs; nops are left out."""
    marks: list[tuple[str, int]] = []
    for event in events_of(program)[: cut.event_count]:
        if isinstance(event, Let):
            marks.append(("v" if event.variable == cut.variable else "o", event.value))
        elif isinstance(event, Open):
            marks.append(("(", 0))
        elif not hasattr(event, "payload"):
            marks.append((")", 0))
    return tuple(marks)


def _lets(marks: Marks) -> list[int]:
    return [value for mark, value in marks if mark == "v"]


def _kth_from_start(k: int) -> Callable[[Marks], int | None]:
    def rule(marks: Marks) -> int | None:
        lets = _lets(marks)
        return lets[k - 1] if k <= len(lets) else None

    return rule


def _kth_from_end(k: int) -> Callable[[Marks], int | None]:
    def rule(marks: Marks) -> int | None:
        lets = _lets(marks)
        return lets[-k] if k <= len(lets) else None

    return rule


def _largest(marks: Marks) -> int | None:
    return max(_lets(marks), default=None)


def _smallest(marks: Marks) -> int | None:
    return min(_lets(marks), default=None)


def _latest_of_any(marks: Marks) -> int | None:
    return next((value for mark, value in reversed(marks) if mark in "vo"), None)


def _without_short_blocks(marks: Marks) -> Marks:
    """The marks without blocks of three lines: one opening, one statement, one closing line."""
    kept: list[tuple[str, int]] = []
    for mark in marks:
        kept.append(mark)
        if "".join(m for m, _ in kept[-3:]) in {"(v)", "(o)"}:
            del kept[-3:]
    return tuple(kept)


def _second_latest_outside_short_blocks(marks: Marks) -> int | None:
    return _kth_from_end(2)(_without_short_blocks(marks))


def _final_closes(marks: Marks) -> int:
    count = 0
    while count < len(marks) and marks[-1 - count][0] == ")":
        count += 1
    return count


def _never_close(marks: Marks) -> int | None:
    return _visible(tuple(mark for mark in marks if mark[0] != ")"))


def _skip_a_let_for_each_close(marks: Marks) -> int | None:
    """The let of v before the last c ones, c being the number of final closes; the first one where there are fewer."""
    lets = _lets(marks)
    return lets[max(0, len(lets) - 1 - _final_closes(marks))] if lets else None


def _skip_any_let_for_each_close(marks: Marks) -> int | None:
    """The same, counting lets of every variable: the latest let of v outside the last c lets."""
    lets = [mark for mark in marks if mark[0] in "vo"]
    return _kth_from_end(1)(tuple(lets[: max(1, len(lets) - _final_closes(marks))]))


def _visible(marks: Marks) -> int | None:
    """What is visible at the end, tracking scopes."""
    scopes: list[int | None] = [None]
    for mark, value in marks:
        if mark == "(":
            scopes.append(None)
        elif mark == ")" and len(scopes) > 1:
            scopes.pop()
        elif mark == "v":
            scopes[-1] = value
    return next((value for value in reversed(scopes) if value is not None), None)


def _closing(change: Callable[[int], int]) -> Callable[[Marks], int | None]:
    """Track scopes, but take ``change(c)`` final closes instead of c."""

    def rule(marks: Marks) -> int | None:
        closes = _final_closes(marks)
        return _visible(marks[: len(marks) - closes] + ((")", 0),) * change(closes))

    return rule


BLIND_RULES: Mapping[str, Callable[[Marks], int | None]] = {
    **{f"let {k} of v from the start": _kth_from_start(k) for k in range(1, 9)},
    **{f"let {k} of v from the end": _kth_from_end(k) for k in range(1, 9)},
    "largest value of v": _largest,
    "smallest value of v": _smallest,
    "latest let of any variable": _latest_of_any,
    "second-latest let of v outside three-line blocks": _second_latest_outside_short_blocks,
    "never close": _never_close,
    "skip one let of v for each final close": _skip_a_let_for_each_close,
    "skip one let for each final close": _skip_any_let_for_each_close,
}
"""Rules that do not track scopes; each must stay below the bound in ``after_close``."""

TRACKING_RULES: Mapping[str, Callable[[Marks], int | None]] = {
    "close one": _closing(lambda _: 1),
    "one close too few": _closing(lambda closes: max(0, closes - 1)),
    "one close too many": _closing(lambda closes: closes + 1),
}
"""Rules that nearly track scopes; their accuracy is shown and bounded by nothing."""


@dataclass(frozen=True, slots=True)
class Probed:
    """One lookup to try the rules on, with the right answer and the group it is counted in."""

    group: tuple[str, ...]
    marks: Marks
    answer: int


def rule_hits(probes: Sequence[Probed]) -> dict[tuple[str, ...], Counter[str]]:
    """For each group: how often each rule was right, and the group's size under the empty name."""
    hits: dict[tuple[str, ...], Counter[str]] = {}
    for probe in probes:
        counter = hits.setdefault(probe.group, Counter())
        counter[""] += 1
        for name, rule in (*BLIND_RULES.items(), *TRACKING_RULES.items()):
            counter[name] += rule(probe.marks) == probe.answer
    return hits
