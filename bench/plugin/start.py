"""The start of an evaluation, in the process the user started: check, plan, take the locks, hand out.

Everything that can be refused is refused here, as one line and exit code 4, before anything is sent.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.audit import require_audit
from bench.backends.local_model import LocalModelError, LocalServer, find_weights, read_spec
from bench.plan.errors import ConfigError, PlanError
from bench.plan.plan_files import Plan
from bench.plugin import guards, naming, options
from bench.plugin.controller import Controller
from bench.plugin.evaluation import Evaluation
from bench.plugin.expression import ExpressionError, parse, words
from bench.plugin.progress import ProgressLines, seconds_between
from bench.plugin.resolve import resolve_run
from bench.plugin.selection import Selection
from bench.plugin.worker import Handoff, install
from bench.run.clock import SystemClock
from bench.run.interrupt import InterruptStop
from bench.run.jsonl import JsonlDamagedError
from bench.run.records_io import RunFileError
from bench.run.session import ControllerSession, Invocation, LedgerDamagedError, Refusal
from bench.run.status import read_run
from bench.score.fingerprint import grader_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.plugin.expression import Expression
    from bench.plugin.options import Backend
    from bench.plugin.selection import Argument

REFUSALS = (ConfigError, PlanError, Refusal, LocalModelError, LedgerDamagedError, JsonlDamagedError, RunFileError)
INVOCATION_OPTIONS = (
    *options.CAPS,
    "max_rpm",
    "max_tpm",
    "retry_ambiguous",
    "retry_failed",
    "soft_budget",
    "accept_carryover",
    "protocol_hash",
)


def start(config: pytest.Config, backend: Backend, arguments: Sequence[Argument]) -> None:
    """Register the controller, and the runner too where items run in this process.

    Raises:
        pytest.UsageError: one line that says what was wrong and what to do.
    """
    guards.refuse_repeaters(config)
    guards.refuse_each(config)
    guards.refuse_negative_workers(config)
    try:
        _start(config, backend, arguments)
    except REFUSALS as error:
        raise pytest.UsageError(" ".join(str(error).split())) from error
    except OSError as error:
        raise pytest.UsageError(f"{error.filename}: {error.strerror}; nothing was sent") from error


def _start(config: pytest.Config, backend: Backend, arguments: Sequence[Argument]) -> None:
    marker = _expression("-m", config.getoption("markexpr"))
    keyword = _expression("-k", config.getoption("keyword"))
    run_dir = resolve_run(config, backend, marker=marker)
    plan = Plan.open(run_dir)
    plan.verify_code(grader_hash())
    names = naming.TrialNames(plan.typed_protocol.preset, plan.typed_protocol.phase)
    if twice := naming.duplicate_name(plan.schedule):
        raise PlanError(f"{run_dir}: two trials are called {twice}; plan the run again")
    for line in names.declarations(plan.schedule):
        config.addinivalue_line("markers", line)
    _refuse_unknown_markers(config, marker)
    wanted = Selection(
        config.rootpath, tuple(arguments), marker, keyword, tuple(config.getoption("deselect", None) or ())
    )
    selected = wanted.positions(plan.schedule, names)
    if not selected:
        raise pytest.UsageError(f"the selection matches none of the {len(plan.schedule)} planned trials of {run_dir}")
    evaluation = Evaluation(run_dir, backend, plan.schedule, selected, Path(config.invocation_params.dir))
    controller = _controller(config, evaluation, plan=plan)
    config.pluginmanager.register(controller, "locality-controller")
    _show_progress(config, evaluation, controller)
    config.add_cleanup(lambda: controller.close(config))
    if not distributed(config):
        install(config, controller.handoff, worker="main")


def _show_progress(config: pytest.Config, evaluation: Evaluation, controller: Controller) -> None:
    """Nothing for a dry run, whose whole course is one summary."""
    if controller.sends:
        every_s = seconds_between(config, terminal=sys.stdout.isatty())
        wanted = len(evaluation.selected.intersection(controller.handoff.pending))
        lines = ProgressLines(evaluation.run_dir, wanted=wanted, every_s=every_s, clock=SystemClock())
        config.pluginmanager.register(lines, "locality-progress")


def distributed(config: pytest.Config) -> bool:
    """Whether xdist will run the items in workers."""
    return (
        not config.getoption("collectonly")
        and config.getoption("dist", "no") != "no"
        and bool(config.getoption("tx", None))
    )


def _controller(config: pytest.Config, evaluation: Evaluation, *, plan: Plan) -> Controller:
    sends = evaluation.backend.kind != "dry" and not config.getoption("collectonly")
    names = {"preset": plan.typed_protocol.preset, "phase": plan.typed_protocol.phase}
    mode = evaluation.backend.detail if evaluation.backend.kind == "mock" else None
    if not sends:
        view = read_run(evaluation.run_dir)
        handoff = Handoff(str(evaluation.run_dir), list(view.pending), mock=None, session=None, **names)
        return Controller(evaluation, handoff=handoff, session=None, terminal=view.terminal_count)
    session = _open_session(config, evaluation, plan=plan)
    interrupt = InterruptStop(lambda: session.request_stop("interrupt"))
    interrupt.install()
    config.add_cleanup(interrupt.restore)
    handoff = Handoff(str(evaluation.run_dir), list(session.pending), mock=mode, session=session.handoff(), **names)
    return Controller(evaluation, handoff=handoff, session=session, terminal=session.terminal_count)


def _open_session(config: pytest.Config, evaluation: Evaluation, *, plan: Plan) -> ControllerSession:
    invocation = Invocation(
        backend=evaluation.backend.name, **{name: config.getoption(name) for name in INVOCATION_OPTIONS}
    )
    if evaluation.backend.kind != "local":
        return ControllerSession.open(evaluation.run_dir, invocation, require_audit=require_audit)
    file = evaluation.backend.detail
    weights = find_weights(None if file in {None, options.EMBEDDED} else Path(str(file)))
    opened: list[ControllerSession] = []

    def stop(message: str) -> None:
        for running in opened:
            running.request_stop("server", message)

    server = LocalServer(read_spec(plan.model.local), weights, on_crash=stop)
    config.add_cleanup(server.close)
    server.__enter__()
    session = ControllerSession.open(
        evaluation.run_dir, invocation, base_url=server.base_url, require_audit=require_audit
    )
    opened.append(session)
    return session


def _expression(flag: str, text: str | None) -> Expression | None:
    if not text or not text.strip():
        return None
    try:
        return parse(text)
    except ExpressionError as error:
        raise pytest.UsageError(f"wrong expression passed to {flag}: {error}") from error


def _refuse_unknown_markers(config: pytest.Config, marker: Expression | None) -> None:
    declared = {line.partition(":")[0].partition("(")[0].strip() for line in config.getini("markers")}
    unknown = sorted(words(marker) - declared) if marker is not None else []
    if unknown:
        raise pytest.UsageError(f"-m: {', '.join(unknown)}: no trial of this plan has such a marker (pytest --markers)")
