"""What an evaluation function may ask for. Each fixture hands out a value that already exists; none makes anything.

Only ``trial`` changes from item to item, and none but ``_runner`` takes pytest's ``request``: making one costs as much
as three of these fixtures together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.plugin.runner import RUNNER, RecordOutcome, TrialRunner

if TYPE_CHECKING:
    from bench.run.trial import Trial


@pytest.fixture(scope="session")
def _runner(request: pytest.FixtureRequest) -> TrialRunner:
    return request.config.stash[RUNNER]


@pytest.fixture
def trial(_runner: TrialRunner) -> Trial:
    """One trial of the plan."""
    return _runner.session.trial(_runner.running.position)


@pytest.fixture(scope="session")
def client(_runner: TrialRunner) -> object:
    """The client of this process: one call, one HTTP attempt."""
    return _runner.session.client


@pytest.fixture(scope="session")
def ledger(_runner: TrialRunner) -> object:
    """The budget ledger that all workers share."""
    return _runner.session.ledger


@pytest.fixture(scope="session")
def run_store(_runner: TrialRunner) -> object:
    """The run directory."""
    return _runner.session.store


@pytest.fixture(scope="session")
def record_outcome(_runner: TrialRunner) -> RecordOutcome:
    """A function that takes the trial's result as data; it skips the item if nothing can be judged."""
    return _runner.record
