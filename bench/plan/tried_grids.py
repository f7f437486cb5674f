"""Which grids were tried: read from the plans that lie beside the one to be frozen (specification, section 7.3a)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.plan.manifest import PROTOCOL_FILE
from bench.plan.run_files import LEDGER_FILE

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class TriedGrid:
    """One plan: its folder, what it asked and of which model, and whether anything of it was ever sent."""

    folder: str
    preset: str
    phase: str
    model: str
    grids: dict[str, Any]
    trials: int
    begun: bool


def tried_grids(runs_dir: Path) -> list[TriedGrid]:
    """Every plan below ``runs_dir``, in the order of the folders' names; folders without one are passed over."""
    found = (_tried(folder) for folder in sorted(runs_dir.iterdir()) if folder.is_dir()) if runs_dir.is_dir() else ()
    return [grid for grid in found if grid is not None]


def _tried(folder: Path) -> TriedGrid | None:
    try:
        protocol = json.loads((folder / PROTOCOL_FILE).read_bytes())
        config = protocol["config"]
        groups = ("reading",) if protocol["phase"] == "p0" else ("reading", "writing")
        return TriedGrid(
            folder=folder.name,
            preset=protocol["preset"],
            phase=protocol["phase"],
            model=protocol["model"]["model"],
            grids={group: config[group] for group in groups if group in config},
            trials=protocol["counts"]["trials"],
            begun=(folder / LEDGER_FILE).is_file(),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
