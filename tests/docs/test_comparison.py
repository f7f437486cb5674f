"""The comparison with peers: its scripts are whole, and its page speaks of every tool that was measured."""

import ast
import re
import sys

import pytest

from tests.docs.document_commands import ROOT

PAGE = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
SCRIPTS = sorted([*(ROOT / "benchmarks").glob("peer*.py"), *(ROOT / "benchmarks" / "peers").glob("*.py")])


@pytest.fixture
def tools(monkeypatch):
    """The module with the table of tools, imported as the benchmark imports it; no peer needs to be installed."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    before = set(sys.modules)
    import peer_tools

    yield peer_tools
    for name in set(sys.modules) - before:
        if not name.startswith("bench."):
            del sys.modules[name]


def tables(text: str) -> list[list[str]]:
    """The first cells of each Markdown table, head and rule aside."""
    runs = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [[line.split("|")[1].strip() for line in run.splitlines()[2:]] for run in runs]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_each_script_compiles(script):
    """A driver cannot be run without its peer, but it is Python and says what it is."""
    assert ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"), script.name))


def test_each_peer_has_its_driver_among_the_scripts(tools):
    """Every driver that the table of tools starts or copies is a file beside it."""
    source = (ROOT / "benchmarks" / "peer_tools.py").read_text(encoding="utf-8")
    named = set(re.findall(r'DRIVERS / "(\w+\.py)"', source))
    assert named == {path.name for path in tools.DRIVERS.glob("*.py")}


def test_every_measured_tool_has_a_row_in_every_table_of_figures(tools):
    """The tables of speed and of kills have one row for each tool of the benchmark."""
    names = {peer.name for peer in tools.PEERS}
    figures = [set(rows) for rows in tables(PAGE) if "plain httpx loop" in rows]
    assert len(figures) >= 3
    assert [] == [sorted(names - rows) for rows in figures if names - rows]


def test_every_peer_is_a_column_of_the_feature_table(tools):
    """What a tool gives is said beside what it costs, in its own column."""
    head = next(line for line in PAGE.splitlines() if line.startswith("| feature |"))
    columns = {cell.strip() for cell in head.split("|")}
    assert set() == {peer.name for peer in tools.PEERS if type(peer) is not tools.ThisProjectSoft} - columns
