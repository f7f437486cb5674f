"""What the analysis takes from ``protocol.json``: seed, resamples, decision and stop rule. Nothing else decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class AnalysisSettings:
    """The frozen numbers. ``bootstrap_seed`` is a signed 64-bit integer; shares are between 0 and 1."""

    bootstrap_seed: int = 0
    resamples: int = 10_000
    smallest_effect_pp: float = 5.0
    max_infrastructure_missing: float = 0.01
    min_terminal_share: float = 1.0
    confirmatory: bool = False


def settings_from(protocol: Mapping[str, Any]) -> AnalysisSettings:
    """The settings of a protocol document. Raises ``KeyError`` naming what is missing."""
    decision, stop = protocol["decision_rule"], protocol["stop_rule"]
    return AnalysisSettings(
        bootstrap_seed=int(protocol["seeds"]["bootstrap"]),
        resamples=int(protocol["analysis"]["resamples"]),
        smallest_effect_pp=float(decision["smallest_effect_pp"]),
        max_infrastructure_missing=decision["max_infrastructure_missing_percent"] / 100,
        min_terminal_share=stop["planned_trials_terminal_percent"] / 100,
        confirmatory=bool(protocol["confirmatory"]),
    )
