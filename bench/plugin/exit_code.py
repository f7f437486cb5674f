"""The exit code of an evaluation session, from what happened. Pure; the table is in ``docs/`` and the README."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

STOPPED_BY_CAP = 6
FATAL = (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Happened:
    """What the session saw. ``missing``: selected trials that are not terminal and evaluable, old ones included."""

    pytest_status: int
    stop_reason: str | None
    missing: int
    report_failed: bool = False


def exit_code(happened: Happened) -> int:
    """The code, first rule that applies: 3, 4, 2, 1 harness, 1 key or quota or parameter, 6 cap, 1 missing, 0."""
    for fatal in FATAL:
        if happened.pytest_status == fatal:
            return int(fatal)
    if happened.stop_reason == "interrupt":
        return int(pytest.ExitCode.INTERRUPTED)
    if happened.pytest_status == pytest.ExitCode.TESTS_FAILED or happened.report_failed:
        return int(pytest.ExitCode.TESTS_FAILED)
    if happened.stop_reason == "cap":
        return STOPPED_BY_CAP
    return int(happened.stop_reason is not None or happened.missing > 0)
