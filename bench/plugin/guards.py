"""What must not run beside paid requests. Each refusal is one line that says why and what to do instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

REPEATERS: Mapping[str, str] = {
    "rerunfailures": "pytest-rerunfailures",
    "pytest_rerunfailures": "pytest-rerunfailures",
    "repeat": "pytest-repeat",
    "pytest_repeat": "pytest-repeat",
    "flaky": "flaky",
    "flakefinder": "pytest-flakefinder",
    "pytest_flakefinder": "pytest-flakefinder",
}


def refuse_repeaters(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` if a plugin is active that can run an item twice: each run is a paid request."""
    for name, plugin in config.pluginmanager.list_name_plugin():
        if plugin is not None and name in REPEATERS:
            raise pytest.UsageError(
                f"the plugin {REPEATERS[name]} can run an item twice, and each run is a request: add -p no:{name}"
            )


def refuse_each(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` under ``--dist each``, which sends every item to every worker."""
    if config.getoption("dist", "no") == "each":
        raise pytest.UsageError("--dist each would send every trial once per worker: use -n N alone")


def refuse_negative_workers(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` for ``-n`` below 0, which xdist takes for no workers at all."""
    workers = config.getoption("numprocesses", None)
    if isinstance(workers, int) and workers < 0:
        raise pytest.UsageError(f"-n: expected 0 or a number of workers, got {workers}")


def automatic_workers(config: pytest.Config) -> bool:
    """Whether the number of workers was left to xdist, which counts CPUs and not requests in flight."""
    arguments = [str(argument) for argument in config.invocation_params.args]
    joined = " ".join(arguments)
    return any(
        f"{flag}{value}" in joined
        for flag in ("-n", "-n ", "-n=", "--numprocesses=", "--numprocesses ")
        for value in ("auto", "logical")
    )
