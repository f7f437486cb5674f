"""The hooks that are always there: whether this process takes part in an evaluation, and as what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.plugin import naming, options
from bench.plugin.selection import read_argument

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option group."""
    options.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers; then start an evaluation, join one as a worker, or do nothing."""
    for name, text in naming.FIXED_MARKERS:
        config.addinivalue_line("markers", f"{name}: {text}")
    if hasattr(config, "workerinput"):
        if handoff := config.workerinput.get(naming.HANDOFF):
            from bench.plugin.worker import join  # noqa: PLC0415 - the client and its libraries, for evaluations only

            join(config, handoff)
            _leave_out_idle_plugins(config)
        return
    backend = options.read_backend(config)
    arguments = [read_argument(argument, config.invocation_params.dir) for argument in config.args]
    if any(argument.within(config.rootpath / naming.FOLDER) for argument in arguments):
        from bench.plugin.start import start  # noqa: PLC0415 - planner, client and scores, for evaluations only

        start(config, backend, arguments)
        _leave_out_idle_plugins(config)


def _leave_out_idle_plugins(config: pytest.Config) -> None:
    """Without hypothesis's: an evaluation has no property tests, and its summary imports all of hypothesis."""
    idle = config.pluginmanager.get_plugin("hypothesispytest")
    if idle is not None:
        config.pluginmanager.unregister(idle)


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str) -> list[pytest.Item] | None:
    """No items for evaluation functions that nobody has planned trials for (`pytest .`); a runner is asked first."""
    unplanned = name in naming.FUNCTIONS and collector.path.parent == collector.config.rootpath / naming.FOLDER
    return [] if unplanned else None
