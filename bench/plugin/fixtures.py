"""What an evaluation function may ask for. Each fixture hands out a value that already exists; none makes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.plugin.items import TrialItem
from bench.plugin.runner import RUNNER, RecordOutcome

if TYPE_CHECKING:
    from bench.run.session import WorkerSession
    from bench.run.trial import Trial, TrialResult


@pytest.fixture
def trial(request: pytest.FixtureRequest) -> Trial:
    """One trial of the plan."""
    item = request.node
    if not isinstance(item, TrialItem):
        raise pytest.UsageError("the fixture `trial` belongs to the evaluation functions in evals/")
    return _session(request).trial(item.position)


@pytest.fixture(scope="session")
def client(request: pytest.FixtureRequest) -> object:
    """The client of this process: one call, one HTTP attempt."""
    return _session(request).client


@pytest.fixture(scope="session")
def ledger(request: pytest.FixtureRequest) -> object:
    """The budget ledger that all workers share."""
    return _session(request).ledger


@pytest.fixture(scope="session")
def run_store(request: pytest.FixtureRequest) -> object:
    """The run directory."""
    return _session(request).store


@pytest.fixture
def record_outcome(request: pytest.FixtureRequest) -> RecordOutcome:
    """A function that takes the trial's result as data; it skips the item if nothing can be judged."""

    def record(result: TrialResult) -> None:
        request.config.stash[RUNNER].record(request.node, result)

    return record


def _session(request: pytest.FixtureRequest) -> WorkerSession:
    return request.config.stash[RUNNER].session
