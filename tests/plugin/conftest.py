"""Boxes for sessions, one per test."""

from pathlib import Path

import pytest

from tests.plugin.boxes import Box, make_box


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """An empty box."""
    return make_box(tmp_path)
