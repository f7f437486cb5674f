"""The table that is printed after a run: short, plain ASCII, from ``analysis.json`` as the report left it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bench.report.escaping import terminal_text
from bench.report.formatting import NA, points, share
from bench.report.notations import labelled, titled

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def summary_table(run_dir: Path) -> str:
    """Per notation n, correct and accuracy; D-B with its interval; missing; tokens; where the report is.

    A blinded run shows pooled numbers only. Raises FileNotFoundError before the first report.
    """
    document = json.loads((run_dir / "analysis.json").read_bytes())
    lines = _blinded_lines(document["state"]) if document.get("blinded") else _lines(document)
    text = "\n".join((*lines, f"report: {terminal_text(str(run_dir / 'report.md'))}"))
    return text.replace("−", "-").replace("–", "-")


def _lines(document: Mapping[str, Any]) -> list[str]:
    state = document["state"]
    found = state["counts"]
    tokens = sum(row["total_tokens"]["total"] for row in document["usage"])
    unknown = found["terminal"] - sum(row["total_tokens"]["reported"] for row in document["usage"])
    return [
        *_status(state, found),
        *_by_notation(document),
        *_primary(document["primary"]),
        _missing(found),
        f"tokens: {tokens:,}" + (f" (not reported for {unknown:,} trials)" if unknown else ""),
    ]


def _status(state: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    lines = []
    if state["synthetic"]:
        lines.append("SYNTHETIC MOCK: no model was asked")
    if state["provisional"]:
        lines.append(f"PROVISIONAL: {found['terminal']:,} of {found['planned']:,} trials terminal")
    return lines


def _by_notation(document: Mapping[str, Any]) -> list[str]:
    rows = [row for row in document["accuracies"] if row["group"] == "all"]
    lines: list[str] = []
    place = None
    for row in rows:
        if (row["task"], row["view"]) != place:
            place = (row["task"], row["view"])
            lines.append(f"{titled(*place):<34}{'n':>6}{'correct':>9}{'accuracy':>10}")
        found = row["counts"]
        lines.append(
            f"  {labelled(row['syntax']):<32}{found['evaluable']:>6,}{found['correct']:>9,}{share(row['accuracy']):>10}"
        )
    return lines


def _primary(primary: Mapping[str, Any] | None) -> list[str]:
    if primary is None:
        return ["D-B: not planned in this run"]
    got = f"{primary['families']} of {primary['families_planned']} families"
    if primary["estimate_pp"] is None:
        return [f"D-B: {NA} ({got}); verdict: {primary['verdict']}"]
    low, high = primary["ci95_low_pp"], primary["ci95_high_pp"]
    interval = "no interval" if low is None else f"95 % interval {points(low)} to {points(high)}"
    flags = "".join(f", {flag}" for flag in primary["flags"])
    return [f"D-B: {points(primary['estimate_pp'])} pp ({interval}{flags}; {got}); verdict: {primary['verdict']}"]


def _missing(found: Mapping[str, Any]) -> str:
    return (
        f"missing: {found['infrastructure_missing']:,} infrastructure, {found['not_dispatched']:,} not dispatched, "
        f"of {found['planned']:,} planned"
    )


def _blinded_lines(state: Mapping[str, Any]) -> list[str]:
    tokens = state["total_tokens_sum"]
    pooled = (
        f"all notations pooled: n {state['evaluable']:,}, correct {state['pooled_correct']:,}, "
        f"accuracy {share(state['pooled_accuracy_share'])}"
    )
    return [
        "BLINDED: confirmatory and unfinished; nothing is shown by notation",
        *_status(state, state),
        pooled,
        _missing(state),
        f"tokens: {NA if tokens is None else format(tokens, ',')}",
    ]
