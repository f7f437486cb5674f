"""The process in which trial items run: a worker, or the only process at ``-n 0``.

It collects what it was told, hands the items their fixtures, and lets nothing but plain words leave in a report. It
decides nothing: which trials are pending, what may be spent and when to stop is settled elsewhere.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import pytest
from _pytest.runner import runtestprotocol

from bench.plugin import naming, outcomes, privacy
from bench.plugin.items import ItemFactory, TrialItem, in_schedule_order
from bench.score.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bench.plan.records import ScheduleRow
    from bench.run.session import WorkerSession
    from bench.run.trial import TrialResult

RUNNER = pytest.StashKey["TrialRunner"]()
_LOGGING = ("pytest_runtest_logstart", "pytest_runtest_logreport", "pytest_runtest_logfinish")
RecordOutcome = Callable[["TrialResult"], None]


class TrialRunner:
    """Plugin object of a process that runs items. Without a session every item is skipped as not dispatched."""

    def __init__(self, root: Path, factory: ItemFactory, *, session: WorkerSession | None) -> None:
        self._folder = root / naming.FOLDER
        self._factory: ItemFactory | None = factory
        self._session = session
        self._running: TrialItem | None = None
        self._hooks_here: dict[str, Callable[..., object]] = {}
        self._closed = False

    @property
    def session(self) -> WorkerSession:
        """The worker's session; items of a dry run never get as far as asking."""
        if self._session is None:
            raise RuntimeError("a dry run has no session")
        return self._session

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: pytest.Collector, name: str, obj: object) -> list[TrialItem] | None:
        """Make the items of an evaluation function; an empty list where no trial of its task is pending."""
        if not (isinstance(collector, pytest.Module) and collector.path.parent == self._folder):
            return None
        if name not in naming.FUNCTIONS or not callable(obj) or self._factory is None:
            return None
        return self._factory.make(collector, name, obj)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Find the hooks of all plugins but the one by which a worker talks to its controller."""
        manager = session.config.pluginmanager
        to_controller = [plugin for plugin in manager.get_plugins() if type(plugin).__name__ == "WorkerInteractor"]
        self._hooks_here = {name: manager.subset_hook_caller(name, to_controller) for name in _LOGGING}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Restore the schedule's order after every other plugin has had its say."""
        yield
        items[:] = in_schedule_order(items)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> outcomes.Status | None:
        """The outcome is the word on the progress line; a worker, which does not grade, says `recorded`."""
        return outcomes.status(report) if isinstance(report, pytest.TestReport) else None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell the session which trials it will really be asked for, and take what exists by now out of collection.

        Libraries, plan and items live until the end; without ``gc.freeze`` a tenth of a sender's time went into
        looking through them again and again.
        """
        self._factory = None
        gc.freeze()
        if self._session is not None:
            self._session.select(item.position for item in session.items if isinstance(item, TrialItem))

    @property
    def running(self) -> TrialItem:
        """The item that is running in this process.

        Raises:
            pytest.UsageError: it is no trial.
        """
        if self._running is None:
            raise pytest.UsageError("the fixtures of a trial belong to the evaluation functions in evals/")
        return self._running

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip a trial of a dry run before any fixture exists."""
        if self._session is None and isinstance(item, TrialItem):
            word = str(Outcome.NOT_DISPATCHED)
            item.user_properties += [(outcomes.TRIAL, item.name), (outcomes.OUTCOME, word)]
            pytest.skip("dry run")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a trial as pytest runs an item; a worker keeps to itself what its controller can tell without it.

        Each message wakes the controller, which shares the cores with the senders. So three of pytest's six stay here:
        that an item begins, that its set-up passed, that it ends.
        """
        if not isinstance(item, TrialItem):
            return None
        hooks, where = self._hooks_here, {"nodeid": item.nodeid, "location": item.location}
        hooks["pytest_runtest_logstart"](**where)
        self._running = item
        try:
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
        finally:
            self._running = None
        for report in reports:
            stays = report.when == "setup" and report.passed
            log = hooks["pytest_runtest_logreport"] if stays else item.ihook.pytest_runtest_logreport
            log(report=report)
        hooks["pytest_runtest_logfinish"](**where)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep prompts and keys out of reports; a trial that recorded nothing is a harness failure."""
        report = yield
        if not isinstance(item, TrialItem):
            return report
        if report.failed and call.excinfo is not None:
            privacy.scrub(report, call.excinfo.value)
        elif report.passed and report.when == "call" and outcomes.STATE not in outcomes.carried(report):
            report.outcome, report.longrepr = "failed", "the evaluation ended without calling record_outcome"
        report.sections = []
        if report.passed and report.when != "call":
            report.keywords = {}  # the marks travel once, with the call; a controller keeps every report to the end
        return report

    def record(self, result: TrialResult) -> None:
        """Put the result into the running item's report; skip it if the model's behaviour was not observed."""
        properties = self.running.user_properties
        properties += [
            (outcomes.TRIAL, result.trial_id),
            (outcomes.STATE, result.state),
            (outcomes.ENDING, result.ending or ""),
            (outcomes.REASON, result.reason or ""),
        ]
        word = outcomes.missing_word(result.state, result.ending)
        if word is not None:
            properties.append((outcomes.OUTCOME, word))
            pytest.skip(f"{word}: {result.reason}" if result.reason else word)

    def pytest_sessionfinish(self) -> None:
        """Let go as soon as the last item is through."""
        self.close()

    def close(self) -> None:
        """Give back what is set aside and let go of the locks; once, for several hooks may be the last to run."""
        if self._session is not None and not self._closed:
            self._closed = True
            self._session.close()


def pending_rows(schedule: Iterable[ScheduleRow], pending: Iterable[int]) -> list[ScheduleRow]:
    """The rows of the pending trials, in schedule order."""
    wanted = frozenset(pending)
    return [row for row in schedule if row.position in wanted]
