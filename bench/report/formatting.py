"""Numbers as a reader sees them: shares, percentage points, tokens, seconds, p-values. Unknown is ``NA``, never 0.

Text out of numbers only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.stats.bootstrap import Interval

NA = "NA"
NOT_COMPUTED = "not computed"
SMALLEST_P = 0.0001


def share(value: float | None) -> str:
    """0.625 as ``62.5 %``."""
    return NA if value is None else f"{100 * value:.1f} %"


def share_range(bounds: tuple[float, float] | None) -> str:
    """(0.5, 0.75) as ``50.0–75.0 %``."""
    return NA if bounds is None else f"{100 * bounds[0]:.1f}–{100 * bounds[1]:.1f} %"


def points(value: float | None) -> str:
    """5.25 as ``+5.2``, a real minus sign for negative values, no sign for zero."""
    if value is None:
        return NA
    rounded = round(value, 1)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return f"{sign}{abs(rounded):.1f}"


def points_range(interval: Interval | None) -> str:
    """An interval in percentage points as ``−1.0 to +11.4``."""
    return NOT_COMPUTED if interval is None else f"{points(interval.low_pp)} to {points(interval.high_pp)}"


def p_value(value: float | None) -> str:
    """A p-value to two significant digits, or ``< 0.0001``."""
    if value is None:
        return NOT_COMPUTED
    return f"< {SMALLEST_P}" if value < SMALLEST_P else f"{value:.2g}"


def number(value: float | None) -> str:
    """Four significant digits, a real minus sign, never a negative zero."""
    return NA if value is None else f"{value + 0.0:.4g}".replace("-", "−")


def whole(value: float | None) -> str:
    """1534.4 as ``1,534``."""
    return NA if value is None else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    """Two decimals."""
    return NA if value is None else f"{value:.2f}"


def plural(number: int, noun: str, many: str = "") -> str:
    """``1 trial``, ``2 trials``."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"
