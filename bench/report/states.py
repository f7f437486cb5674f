"""What this run directory can vouch for: five states in separate words, from backends and freeze alone.

A mock run is no model run, a local model is no live API, a pilot is no main experiment: nothing is inferred upwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.report.document import Column, Table

LOCAL_CAVEAT = (
    "The model is a small base model that runs on this machine. Its numbers say that the instrument works from plan to "
    "report; they say nothing about frontier models."
)
MOCK_CAVEAT = (
    "SYNTHETIC MOCK: no model was asked. Answers were made up by a program to test the instrument. Every number below "
    "describes that program; none describes a model."
)
NOT_LIVE = "Not run on the live API."


@dataclass(frozen=True, slots=True)
class RunKind:
    """Where the answers of a run came from and how far it got."""

    backends: frozenset[str]
    synthetic: bool
    confirmatory: bool
    frozen: bool
    complete: bool

    @property
    def local(self) -> bool:
        """Whether a model on this machine answered."""
        return "local" in self.backends

    @property
    def live(self) -> bool:
        """Whether the configured live endpoint answered."""
        return "live" in self.backends

    @property
    def main_done(self) -> bool:
        """Whether this is the frozen main experiment, finished, on a real endpoint."""
        return self.confirmatory and self.frozen and self.complete and self.live and not self.synthetic


def states_table(kind: RunKind) -> Table:
    """The five states, each with what this run directory shows of it."""
    elsewhere = "not by this run"
    rows = (
        ("implemented", "yes: plan, grading, analysis and this report came out of the programs"),
        ("mock-verified", "this run" if kind.synthetic else elsewhere),
        ("run on a local model", "this run" if kind.local and not kind.synthetic else elsewhere),
        ("run on the live API", "this run" if kind.live and not kind.synthetic else "no: not run on the live API"),
        ("main experiment done", "this run" if kind.main_done else "no"),
    )
    return Table("What has been done, in separate words", (Column("state", False), Column("shown by", False)), rows)
