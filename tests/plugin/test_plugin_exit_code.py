"""The exit code table, one case per row and per precedence."""

import pytest

from bench.plugin.exit_code import Happened, exit_code


@pytest.mark.parametrize(
    ("happened", "expected"),
    [
        (Happened(0, None, 0), 0),
        (Happened(5, None, 0), 0),
        (Happened(0, None, 1), 1),
        (Happened(5, None, 3), 1),
        (Happened(0, "cap", 3), 6),
        (Happened(0, "quota", 3), 1),
        (Happened(0, "key", 3), 1),
        (Happened(0, "parameter", 3), 1),
        (Happened(0, "interrupt", 3), 2),
        (Happened(1, "interrupt", 3), 2),
        (Happened(1, "cap", 3), 1),
        (Happened(0, "cap", 3, report_failed=True), 1),
        (Happened(2, "cap", 3), 2),
        (Happened(3, "interrupt", 3), 3),
        (Happened(4, "interrupt", 3), 4),
        (Happened(0, "disk", 0), 1),
    ],
)
def test_first_rule_that_applies(happened: Happened, expected: int) -> None:
    """3, 4, 2, 1 for the harness, 1 for key or quota or parameter, 6 for a cap, 1 for missing, else 0."""
    assert expected == exit_code(happened)
