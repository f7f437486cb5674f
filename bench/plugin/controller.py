"""The process the user started: hands out the trials, puts the outcome on each report, closes the books.

Under xdist it never collects. It alone holds the run lock, opens gold (to grade) and writes scores and the report.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from bench.plugin import guards, outcomes, summary
from bench.plugin.aftermath import NOTHING_WRITTEN, Grading, count_missing, write_results
from bench.plugin.exit_code import Happened, exit_code
from bench.plugin.naming import HANDOFF, node_id
from bench.plugin.runner import RUNNER
from bench.plugin.scheduler import BlockScheduling
from bench.score.blinding import is_blinded

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from xdist.remote import Producer  # type: ignore[import-untyped]  # xdist ships no types
    from xdist.workermanage import WorkerController  # type: ignore[import-untyped]  # xdist ships no types

    from bench.plan.records import ScheduleRow
    from bench.plugin.evaluation import Evaluation
    from bench.plugin.worker import Handoff
    from bench.run.session import ControllerSession, SessionEnd


class Controller:
    """Plugin object of the controller. Without a session (dry run, ``--collect-only``) it sends and writes nothing."""

    def __init__(
        self, evaluation: Evaluation, *, handoff: Handoff, session: ControllerSession | None, terminal: int
    ) -> None:
        self.handoff = handoff
        self._evaluation = evaluation
        self._session = session
        self._terminal = terminal
        self._rows = {node_id(evaluation.schedule[position]): position for position in handoff.pending}
        self._grading = None if session is None else Grading(evaluation.run_dir, blinded=is_blinded(evaluation.run_dir))
        self._collected: set[int] | None = None
        self._end: SessionEnd | None = None
        self._written = NOTHING_WRITTEN
        self._words: dict[str, str] = {}  # of items between the reports of their call and their tear-down

    @property
    def sends(self) -> bool:
        """Whether anything is sent by this invocation."""
        return self._session is not None

    def pytest_report_header(self) -> list[str]:
        """The run, where requests go, and how much is already done."""
        return summary.header(self._evaluation, terminal=self._terminal, session=self._session)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which pending trials pytest selected, where items are collected in this process."""
        self._note_collected(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note which pending trials the workers selected; all of them collect the same."""
        self._note_collected(ids)
        gc.freeze()  # as in the runner: plan and libraries stay to the end

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: WorkerController) -> None:
        """Tell a worker, a replacement included, what was decided at the start."""
        node.workerinput[HANDOFF] = self.handoff.as_builtin()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> BlockScheduling:
        """Keep each block on one worker, in schedule order."""
        schedule = self._evaluation.schedule
        return BlockScheduling(config, log, blocks={name: schedule[row].block for name, row in self._rows.items()})

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: WorkerController, error: object | None) -> None:
        """Give back what a dead worker had set aside; its trial in flight is ambiguous."""
        if error is not None and self._session is not None:
            self._session.worker_gone(node.gateway.id)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Put the trial's state on the report of a crash; it stays a failure, for the harness died."""
        position = self._rows.get(crashitem)
        if position is not None and self._session is not None:
            result = self._session.trial_state(position)
            word = outcomes.missing_word(result.state, result.ending) or outcomes.RECORDED
            report.user_properties += [(outcomes.TRIAL, result.trial_id), (outcomes.OUTCOME, word)]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        """Grade an answer as its report arrives, before anyone prints or stores the report.

        A worker's trial sends one report of its set-up or its call and one of its tear-down: it began and has ended.
        """
        node: WorkerController | None = getattr(report, "node", None) if report.nodeid in self._rows else None
        self._grade(report, outcomes.carried(report))
        if node is not None and report.when != "teardown":
            node.config.hook.pytest_runtest_logstart(nodeid=report.nodeid, location=report.location)
        yield
        if node is not None and report.when == "teardown":
            node.config.hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)

    def _grade(self, report: pytest.TestReport, carried: Mapping[str, str]) -> None:
        if outcomes.STATE not in carried or outcomes.OUTCOME in carried or self._grading is None:
            return
        if report.when == "call":
            row = self._evaluation.schedule[self._rows[report.nodeid]]
            self._words[report.nodeid] = self._grading.word(row)
        word = self._words.get(report.nodeid)
        if report.when == "teardown":  # its report is the one that junit takes properties from
            self._words.pop(report.nodeid, None)
        if word is not None:
            report.user_properties = [*report.user_properties, (outcomes.OUTCOME, word)]

    def pytest_report_teststatus(self, report: pytest.TestReport) -> outcomes.Status | None:
        """The outcome is the word on the progress line."""
        return outcomes.status(report) if isinstance(report, pytest.TestReport) else None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Close the books, score and report, and say by the exit code what happened."""
        if session.config.getoption("collectonly"):
            session.exitstatus = _without_empty(session.exitstatus)
            return
        self.close(session.config)
        if self._session is None:
            session.exitstatus = _without_empty(session.exitstatus)
            return
        gc.freeze()  # so does a report of every trial: scoring need not search them
        self._written = write_results(self._evaluation.run_dir)
        gc.freeze()  # pytest's last act is to search everything for garbage, five times over
        session.exitstatus = exit_code(
            Happened(
                pytest_status=int(session.exitstatus),
                stop_reason=self._end.stop_reason if self._end else None,
                missing=count_missing(self._evaluation.run_dir, self._judged()),
                report_failed=bool(self._written.error),
            )
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """What was found, or what a dry run would send."""
        if config.getoption("collectonly"):
            return
        notices = self._notices(config)
        terminalreporter.section("locality")
        if self._session is None:
            lines = summary.dry_run(self._evaluation, pending=self._wanted(), arguments=config.invocation_params.args)
        else:
            lines = summary.after(self._evaluation, written=self._written, end=self._end)
        for line in [*lines, *notices]:
            terminalreporter.write_line(line)

    def close(self, config: pytest.Config) -> None:
        """Close the run, once; where items ran in this process, their session first."""
        if self._session is None or self._end is not None:
            return
        if (runner := config.stash.get(RUNNER, None)) is not None:
            runner.close()
        self._end = self._session.close()

    def _note_collected(self, ids: Iterable[str]) -> None:
        if self._collected is None:
            self._collected = {self._rows[name] for name in ids if name in self._rows}

    def _wanted(self) -> frozenset[int]:
        """The pending trials that were asked for."""
        pending = self._evaluation.selected.intersection(self.handoff.pending)
        return pending if self._collected is None else pending & self._collected

    def _judged(self) -> list[ScheduleRow]:
        """What the exit code is about: what was asked for now, and what of the selection was terminal before."""
        positions = self._wanted() | self._evaluation.selected.difference(self.handoff.pending)
        return [self._evaluation.schedule[position] for position in sorted(positions)]

    def _notices(self, config: pytest.Config) -> list[str]:
        lines = [summary.partial_selection(self._evaluation, pending=frozenset(self.handoff.pending))]
        if guards.automatic_workers(config):
            lines.append("warning: -n auto counts CPUs; requests wait, they do not compute: say -n 4")
        return [line for line in lines if line]


def _without_empty(status: int | pytest.ExitCode) -> int | pytest.ExitCode:
    """A dry run that finds nothing pending has found that nothing is missing to be listed."""
    return pytest.ExitCode.OK if status == pytest.ExitCode.NO_TESTS_COLLECTED else status
