"""The rules of tests/conftest.py hold: tried on a folder with a copy of it, in a session of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
SAMPLE = """
import os, warnings
import pytest

@pytest.mark.slow
def test_slow(): raise AssertionError("ran")

def test_warns(): warnings.warn("careful")

@pytest.mark.filterwarnings("ignore")
def test_warns_and_says_so(): warnings.warn("careful")

def test_environment(): assert [] == [n for n in os.environ if n.startswith("OPENAI_") or n == "PYTEST_ADDOPTS"]

def test_golden(golden): golden("sample.txt", "a\\r\\nb\\n")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tests").mkdir()
    shutil.copy(CONFTEST, tmp_path / "tests" / "conftest.py")
    (tmp_path / "tests" / "test_sample.py").write_text(SAMPLE)
    return tmp_path


def session(folder: Path, *arguments: str) -> dict[str, str]:
    """Outcome word by test name."""
    environment = {**os.environ, "OPENAI_API_KEY": "not-a-key", "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    command = [sys.executable, "-m", "pytest", "-v", "--rootdir", str(folder), "tests", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    lines = [line.split()[:2] for line in done.stdout.splitlines() if "::" in line and line.startswith("tests/")]
    return {name.split("::")[1]: word for name, word in lines}


def test_slow_waits_warnings_fail_secrets_are_gone_and_golden_is_compared(folder):
    """Without -m: the slow test is not run, an unexpected warning fails, a missing golden file fails."""
    expected = {
        "test_warns": "FAILED",
        "test_warns_and_says_so": "PASSED",
        "test_environment": "PASSED",
        "test_golden": "FAILED",
    }
    assert expected == session(folder)


def test_slow_runs_when_named_and_golden_is_written_when_asked(folder):
    """-m slow runs the slow test; --update-golden writes the bytes as given."""
    assert {"test_slow": "FAILED"} == session(folder, "-m", "slow")
    assert {"test_golden": "PASSED"} == session(folder, "-k", "golden", "--update-golden")
    assert b"a\r\nb\n" == (folder / "tests" / "golden" / "sample.txt").read_bytes()
    assert {"test_golden": "PASSED"} == session(folder, "-k", "golden")
