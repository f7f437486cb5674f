"""Rules for every test: warnings are errors, slow tests wait to be asked for, no credential of the caller is seen."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
MARKERS = (
    "slow: takes more than a few seconds; runs only when -m names it",
    "faults: part of the fault campaign",
)


def _scrub_environment() -> None:
    """Remove what would change a sub-session or send a test's request with a real key."""
    for name in [name for name in os.environ if name == "PYTEST_ADDOPTS" or name.startswith("OPENAI_")]:
        del os.environ[name]


def _default_signals() -> None:
    """Undo what nohup or a background job ignores: the processes that tests start would inherit it, and be deaf."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


_scrub_environment()
_default_signals()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the files under tests/golden instead of comparing; read the result as a diff",
    )


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        # first in the list, hence weakest: a test may still say which warning it expects
        item.add_marker(pytest.mark.filterwarnings("error"), append=False)
    if "slow" in config.getoption("markexpr", ""):
        return
    waiting = {item for item in ours if item.get_closest_marker("slow")}
    if waiting:
        config.hook.pytest_deselected(items=[item for item in items if item in waiting])
        items[:] = [item for item in items if item not in waiting]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare text with a file under tests/golden byte for byte, or write that file under --update-golden."""

    def compare(name: str, actual: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(actual.encode())
        assert path.is_file(), f"{path} does not exist; write it with --update-golden and read it"
        assert path.read_bytes().decode() == actual

    return compare
