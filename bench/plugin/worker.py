"""What a process needs to run items, and how it gets it: told by the controller, it never decides."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.plan.plan_files import Plan
from bench.plugin import fixtures, naming
from bench.plugin.items import ItemFactory
from bench.plugin.runner import RUNNER, TrialRunner, pending_rows
from bench.run.interrupt import InterruptStop
from bench.run.session import WorkerSession

if TYPE_CHECKING:
    import httpx
    import pytest


@dataclass(frozen=True, slots=True)
class Handoff:
    """What the controller tells a worker, in builtin types: xdist carries nothing else.

    The pending list is decided once. A worker that looked for itself, later, would collect other items.
    """

    run_dir: str
    pending: list[int]
    preset: str
    phase: str
    mock: str | None
    session: dict[str, Any] | None

    def as_builtin(self) -> dict[str, Any]:
        """The value for xdist's ``workerinput``."""
        return asdict(self)


def join(config: pytest.Config, handoff: dict[str, Any]) -> None:
    """Make this xdist worker ready to run the controller's items."""
    told = Handoff(**handoff)
    runner = install(config, told, worker=str(config.workerinput["workerid"]))  # type: ignore[attr-defined]  # xdist's
    if told.session is not None:
        interrupt = InterruptStop(lambda: runner.session.request_stop("interrupt"))
        interrupt.install()
        config.add_cleanup(interrupt.restore)
    config.add_cleanup(runner.close)


def install(config: pytest.Config, told: Handoff, *, worker: str) -> TrialRunner:
    """Register a runner and the fixtures in this process; return the runner."""
    _keep_values_private(config)
    run_dir = Path(told.run_dir)
    session, plan = None, None
    if told.session is not None:
        session = WorkerSession.join(told.session, worker=worker, transport=_transport(run_dir, told.mock))
        plan = session.plan
    schedule = (plan or Plan.open(run_dir, verify=False)).schedule
    factory = ItemFactory(pending_rows(schedule, told.pending), naming.TrialNames(told.preset, told.phase))
    for line in naming.TrialNames(told.preset, told.phase).declarations(schedule):
        config.addinivalue_line("markers", line)
    runner = TrialRunner(config.rootpath, factory, session=session)
    config.stash[RUNNER] = runner
    config.pluginmanager.register(runner, "locality-runner")
    config.pluginmanager.register(fixtures, "locality-fixtures")
    return runner


def _transport(run_dir: Path, mock: str | None) -> httpx.BaseTransport | None:
    if mock is None:
        return None
    from bench.backends.mock import mock_transport  # noqa: PLC0415 - the mock reads gold: loaded for mock sessions only

    return mock_transport(mock, run_dir)


def _keep_values_private(config: pytest.Config) -> None:
    """No values of variables in what pytest prints outside of trial items; no headers in logs."""
    config.option.showlocals = False
    config.option.fulltrace = False
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
