"""The analysis as ``analysis.json``: plain values only.

``primary`` and ``contrasts`` are read by scripts outside this project: their field names are fixed.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.stats.analysis import Analysis
    from bench.stats.bootstrap import Interval
    from bench.stats.contrast_result import ContrastResult


def analysis_json(analysis: Analysis) -> dict[str, object]:
    """A document of objects, lists, strings, numbers, booleans and null."""
    results = [*([analysis.primary] if analysis.primary else []), *analysis.contrasts]
    document = {
        "primary": None if analysis.primary is None else contrast_json(analysis.primary),
        "contrasts": [contrast_json(result) for result in analysis.contrasts],
        "state": asdict(analysis.state),
        "details": [_details(result) for result in results],
        "breakdowns": [
            {"task": task, "view": view, "parts": [asdict(part) for part in parts]}
            for (task, view), parts in analysis.breakdowns.items()
        ],
        "validity": [asdict(row) for row in analysis.validity],
        "accuracies": [asdict(row) for row in analysis.accuracies],
        "usage": [asdict(row) for row in analysis.usage],
        "settings": asdict(analysis.settings) | {"bootstrap_seed": str(analysis.settings.bootstrap_seed)},
    }
    return {key: _plain(value) for key, value in document.items()}


def contrast_json(result: ContrastResult) -> dict[str, object]:
    """The fixed fields; null where not computed."""
    return {
        "task": result.task,
        "view": result.view,
        "contrast": result.contrast,
        "estimate_pp": result.estimate_pp,
        **_ends("ci95", result.ci95),
        **_ends("exact95", result.exact95),
        **_ends("t95", result.t95),
        "signflip_p": result.signflip_p,
        "families": result.families,
        "families_planned": result.families_planned,
        "flags": list(result.flags),
        "verdict": result.verdict,
    }


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    return {
        f"{name}_low_pp": None if interval is None else interval.low_pp,
        f"{name}_high_pp": None if interval is None else interval.high_pp,
    }


def _details(result: ContrastResult) -> dict[str, object]:
    """All fields of a contrast; its selection is told by task and view alone."""
    fields = asdict(result)
    del fields["selection"]
    return fields


def _plain(value: object) -> object:
    """The value with lists for tuples."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
