"""A folder with a configuration in it, one per test."""

from pathlib import Path

import pytest

from tests.harness.loops import config_text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(config_text())
    return tmp_path
