"""Draws the figures as SVG text that is the same, byte for byte, whenever the numbers are the same.

Only drawing: the numbers arrive as `Drawing` values (``figure_data`` makes them). matplotlib is imported here and
nowhere else, through its object interface, so no global state and no display is involved.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.report.notations import LETTERS, labelled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

_STYLE: Mapping[Any, Any] = {  # matplotlib types its settings key by key
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same outlines everywhere
    "font.size": 9,
    "svg.fonttype": "path",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "legend.fontsize": 8,
}

# Okabe and Ito's palette: told apart without colour vision, and by marker in black and white.
_COLOURS = {"A": "#7f7f7f", "B": "#d55e00", "C": "#009e73", "D": "#0072b2", "E": "#cc79a7", "F": "#000000"}
_MARKERS = {"A": "o", "B": "s", "C": "^", "D": "D", "E": "v", "F": "X"}


@dataclass(frozen=True, slots=True)
class Estimate:
    """One line of a forest plot, in percentage points; None where not computed."""

    label: str
    estimate_pp: float | None
    low_pp: float | None
    high_pp: float | None
    primary: bool = False


@dataclass(frozen=True, slots=True)
class Forest:
    """Differences with their intervals, one under the other."""

    rows: Sequence[Estimate]
    smallest_effect_pp: float | None


@dataclass(frozen=True, slots=True)
class Level:
    """Accuracy of one notation at one level of a factor, as shares; the interval is Wilson's."""

    syntax: str
    level: int
    accuracy: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Levels:
    """Accuracy by notation over depth and over filler."""

    by_depth: Sequence[Level]
    by_filler: Sequence[Level]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one notation costs and yields: mean tokens of a trial, accuracy as a share."""

    panel: str
    syntax: str
    tokens_mean: float | None
    accuracy: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class CostMap:
    """Cost against accuracy, one panel for each task and view."""

    points: Sequence[Cost]


@dataclass(frozen=True, slots=True)
class Slice:
    """One part of the run in order of sending: accuracies of the two compared notations and of all pooled."""

    first_position: int
    last_position: int
    plus: float | None
    minus: float | None
    pooled: float | None


@dataclass(frozen=True, slots=True)
class Drift:
    """Accuracy over the course of the run."""

    slices: Sequence[Slice]
    plus: str
    minus: str


Drawing = Forest | Levels | CostMap | Drift


def draw_svg(drawing: Drawing, *, name: str) -> str:
    """The drawing as SVG text; ``name`` salts the ids inside. No date, no version, no random id."""
    buffer = io.StringIO()
    with mpl.rc_context():
        mpl.rcdefaults()  # a reader's own matplotlibrc must not change the bytes
        mpl.rcParams.update({**_STYLE, "svg.hashsalt": name})
        draw_figure(drawing).savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def draw_figure(drawing: Drawing) -> Figure:
    """The drawing as a matplotlib figure."""
    match drawing:
        case Forest():
            return _forest(drawing)
        case Levels():
            return _levels(drawing)
        case CostMap():
            return _cost_map(drawing)
        case Drift():
            return _drift(drawing)
        case _:
            assert_never(drawing)


def _forest(drawing: Forest) -> Figure:
    rows = drawing.rows
    figure = Figure(figsize=(7.2, 1.1 + 0.34 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color="#444444", linewidth=0.9)
    if drawing.smallest_effect_pp is not None:
        edge = drawing.smallest_effect_pp
        axes.axvspan(-edge, edge, color="#eeeeee", zorder=0, label=f"smaller than ±{edge:g} pp")
        figure.legend(loc="outside upper right")
    for at, row in enumerate(rows):
        _forest_row(axes, row, at)
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("difference in accuracy, percentage points (right: the first notation is better)")
    axes.tick_params(axis="y", length=0)
    return figure


def _forest_row(axes: Axes, row: Estimate, at: int) -> None:
    colour = "#0072b2" if row.primary else "#555555"
    if row.estimate_pp is None:
        axes.annotate("not computed", (0, at), xytext=(4, -3), textcoords="offset points", color="#888888", fontsize=7)
        return
    if row.low_pp is not None and row.high_pp is not None:
        axes.plot([row.low_pp, row.high_pp], [at, at], color=colour, linewidth=2.2 if row.primary else 1.2)
    hollow = row.low_pp is None
    axes.plot(
        row.estimate_pp,
        at,
        marker="D" if row.primary else "o",
        color=colour,
        markerfacecolor="white" if hollow else colour,
        markersize=7 if row.primary else 5,
    )


def _levels(drawing: Levels) -> Figure:
    figure = Figure(figsize=(8.2, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _level_panel(left, drawing.by_depth, "nesting depth")
    _level_panel(right, drawing.by_filler, "filler statements")
    left.set_ylabel("accuracy (95 % Wilson interval)")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    return figure


def _level_panel(axes: Axes, points: Sequence[Level], title: str) -> None:
    levels = sorted({point.level for point in points})
    syntaxes = list(dict.fromkeys(point.syntax for point in points))
    for nth, syntax in enumerate(syntaxes):
        own = [point for point in points if point.syntax == syntax and point.accuracy is not None]
        shift = (nth - (len(syntaxes) - 1) / 2) * 0.12  # side by side, so that intervals do not hide each other
        places = [levels.index(point.level) + shift for point in own]
        axes.plot(places, [point.accuracy or 0.0 for point in own], **_mark(syntax), linewidth=1)
        for place, point in zip(places, own, strict=True):
            if point.low is not None and point.high is not None:
                axes.plot([place, place], [point.low, point.high], color=_mark(syntax)["color"], linewidth=1)
    axes.set_xticks(range(len(levels)), [str(level) for level in levels])
    axes.set_xlim(-0.6, len(levels) - 0.4)
    axes.set_title(f"by {title}")
    axes.set_xlabel(title)
    _share_axis(axes)


def _mark(syntax: str) -> dict[str, Any]:  # keywords of Axes.plot
    letter = LETTERS.get(syntax, "A")
    return {"color": _COLOURS[letter], "marker": _MARKERS[letter], "label": labelled(syntax)}


def _share_axis(axes: Axes) -> None:
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.grid(axis="y", color="#e5e5e5", linewidth=0.6)
    axes.set_axisbelow(True)


def _cost_map(drawing: CostMap) -> Figure:
    panels = list(dict.fromkeys(point.panel for point in drawing.points))
    columns = min(3, max(1, len(panels)))
    lines = -(-max(1, len(panels)) // columns)
    figure = Figure(figsize=(1.2 + 2.9 * columns, 0.7 + 2.5 * lines), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False)
    for nth, panel in enumerate(panels):
        _cost_panel(grid[nth // columns][nth % columns], [point for point in drawing.points if point.panel == panel])
    for nth in range(len(panels), lines * columns):
        grid[nth // columns][nth % columns].set_axis_off()
    if panels:
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(5, 2 * columns))
    return figure


def _cost_panel(axes: Axes, points: Sequence[Cost]) -> None:
    for point in points:
        if point.tokens_mean is None or point.accuracy is None:
            continue
        mark = _mark(point.syntax)
        if point.low is not None and point.high is not None:
            axes.plot([point.tokens_mean] * 2, [point.low, point.high], color=mark["color"], linewidth=1)
        axes.plot([point.tokens_mean], [point.accuracy], linestyle="none", markersize=6, **mark)
    axes.set_title(points[0].panel)
    axes.set_xlabel("mean tokens of a trial")
    axes.margins(x=0.15)
    _share_axis(axes)


def _drift(drawing: Drift) -> Figure:
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    axes = figure.subplots()
    centres = [(part.first_position + part.last_position) / 2 for part in drawing.slices]
    for syntax, values in (
        (drawing.plus, [part.plus for part in drawing.slices]),
        (drawing.minus, [part.minus for part in drawing.slices]),
    ):
        known = [(centre, value) for centre, value in zip(centres, values, strict=True) if value is not None]
        axes.plot([x for x, _ in known], [y for _, y in known], **_mark(syntax), linewidth=1.2)
    pooled = [(x, part.pooled) for x, part in zip(centres, drawing.slices, strict=True) if part.pooled is not None]
    axes.plot([x for x, _ in pooled], [y for _, y in pooled], color="#222222", linestyle=":", label="all notations")
    axes.set_xlabel("position in the order of sending")
    axes.set_ylabel("accuracy")
    _share_axis(axes)
    figure.legend(loc="outside lower center", ncols=3)
    return figure
