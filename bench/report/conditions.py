"""What a run was planned and frozen to be, as label and value, read from ``protocol.json`` and ``freeze.json``.

The one reader of the protocol in this package; statistics read their own part of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.plan.run_files import FREEZE_FILE
from bench.report.factors import cautions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bench.plan.plan_files import Plan


@dataclass(frozen=True, slots=True)
class Conditions:
    """The planned conditions; ``rows`` are (label, value) for the table, empty where a field is not sent."""

    preset: str
    phase: str
    model: str
    confirmatory: bool
    frozen: bool
    bootstrap_seed: int
    smallest_effect_pp: float
    rows: tuple[tuple[str, str], ...]
    shots: int = 8
    indented: bool = False
    cautions: tuple[str, ...] = ()


def read_conditions(plan: Plan) -> Conditions:
    """The conditions of a planned run."""
    protocol, model = plan.protocol, plan.protocol["model"]
    freeze = _document(plan.run_dir / FREEZE_FILE)
    return Conditions(
        preset=protocol["preset"],
        phase=protocol["phase"],
        model=model["model"],
        confirmatory=protocol["confirmatory"],
        frozen=freeze is not None,
        bootstrap_seed=int(protocol["seeds"]["bootstrap"]),
        smallest_effect_pp=float(protocol["decision_rule"]["smallest_effect_pp"]),
        rows=(*_plan_rows(plan, protocol), *_model_rows(model), *_rule_rows(protocol), *_freeze_rows(freeze)),
        shots=protocol["config"]["few_shot_count"],
        indented=protocol["config"]["indentation"] != "none",
        cautions=cautions({**protocol["config"], "model": model}),
    )


def _document(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_bytes()) if path.is_file() else None


def _plan_rows(plan: Plan, protocol: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return (
        ("preset and phase", f"{protocol['preset']} {protocol['phase']}"),
        ("kind", "confirmatory" if protocol["confirmatory"] else "exploratory (not confirmatory)"),
        ("protocol hash", plan.protocol_hash),
        ("manifest hash", plan.manifest_hash),
        ("planned (UTC)", plan.manifest.created_at),
        ("program version", plan.manifest.package_version),
        ("families, cases, trials", ", ".join(str(protocol["counts"][key]) for key in ("families", "cases", "trials"))),
        *(
            (f"grid, {name}", _grid(protocol["config"][name]))
            for name in ("reading", "writing")
            if _has(protocol, name)
        ),
        ("examples in each prompt", str(protocol["config"].get("few_shot_count", ""))),
        ("indentation", str(protocol["config"].get("indentation", ""))),
        *((label, str(protocol["config"][key])) for label, key in _FACTORS if key in protocol["config"]),
    )


_FACTORS = (("kind of all blocks", "kinds"), ("families of preset", "families_of"))


def _has(protocol: Mapping[str, Any], name: str) -> bool:
    return isinstance(protocol["config"].get(name), dict)


def _grid(grid: Mapping[str, Any]) -> str:
    return f"depth {grid['depths']} × filler {grid['fillers']}, {grid['seeds_per_cell']} families per cell"


def _model_rows(model: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    sent = (
        ("reasoning effort", "reasoning_effort"),
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("output limit, reading (tokens)", "max_output_tokens_reading"),
        ("output limit, writing (tokens)", "max_output_tokens_generation"),
    )
    local = model.get("local") or {}
    return (
        ("model requested", model["model"]),
        ("endpoint", model["base_url"]),
        *((label, "not sent" if model.get(key) is None else str(model[key])) for label, key in sent),
        *((f"local model: {key}", _plain(value)) for key, value in sorted(local.items())),
    )


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _rule_rows(protocol: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    decision, stop = protocol["decision_rule"], protocol["stop_rule"]
    return (
        ("resamples and bootstrap seed", f"{protocol['analysis']['resamples']}, {protocol['seeds']['bootstrap']}"),
        ("smallest relevant effect (pp)", str(decision["smallest_effect_pp"])),
        ("limit of missing infrastructure (%)", str(decision["max_infrastructure_missing_percent"])),
        ("stop rule: terminal trials (%)", str(stop["planned_trials_terminal_percent"])),
    )


def _freeze_rows(freeze: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    if freeze is None:
        return (("frozen", "no"),)
    kept = ("date", "git_commit", "dirty", "model_returned", "mde_pp", "mde_source")
    return (("frozen", "yes"), *((f"freeze: {key}", str(freeze[key])) for key in kept if key in freeze))
