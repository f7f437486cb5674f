"""What arguments select, said of schedule rows: the same trials that pytest collects."""

from pathlib import Path

import pytest

from bench.plugin.expression import parse
from bench.plugin.naming import TrialNames, duplicate_name, node_id
from bench.plugin.selection import Argument, Selection, broken_blocks, read_argument
from tests.plugin.boxes import Box
from tests.plugin.rows import rows

ROOT = Path("/project")
NAMES = TrialNames("smoke", "p0")
ROWS = rows(40)
ALL = (Argument(ROOT / "evals", ()),)


def selected(**parts: object) -> int:
    return len(Selection(ROOT, **{"arguments": ALL, **parts}).positions(ROWS, NAMES))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("evals", Argument(ROOT / "evals", ())),
        ("evals/t.py::f", Argument(ROOT / "evals/t.py", ("f",))),
        ("/other/t.py::f[a-b]", Argument(Path("/other/t.py"), ("f[a-b]",))),
        ("evals/t.py::f[a::b]", Argument(ROOT / "evals/t.py", ("f[a::b]",))),
        ("../project/evals", Argument(ROOT / "evals", ())),
    ],
)
def test_arguments_are_split_as_pytest_splits_them(text: str, expected: Argument) -> None:
    """Path, names, and a parameter that may hold anything."""
    assert expected == read_argument(text, ROOT)


def test_paths_and_node_ids() -> None:
    """A folder takes all, a module its task, a function its module's, an id one trial."""
    module = ROOT / "evals" / "test_scope_lookup.py"
    one = read_argument(node_id(ROWS[7]), ROOT)
    other = Argument(ROOT / "evals" / "test_active_stack.py", ())
    counts = [
        selected(arguments=(argument,))
        for argument in (*ALL, Argument(module, ()), Argument(module, ("test_scope_lookup",)), one, other)
    ]
    assert [40, 40, 40, 1, 0] == counts


def test_markers_keywords_and_deselected_prefixes() -> None:
    """Markers match whole, keywords any part of any name in any case; a deselected prefix takes away."""
    assert 8 == selected(marker=parse("named_end"))
    assert 0 == selected(marker=parse("named"))
    assert 8 == selected(keyword=parse("NAMED"))
    assert 4 == selected(marker=parse("depth_8 and named_end"))
    assert 40 == selected(keyword=parse("scope_lookup.py"))
    assert 39 == selected(deselected=(node_id(ROWS[0]),))


def test_broken_blocks() -> None:
    """A block is broken if it holds both what is asked for and what is left."""
    asked = frozenset(range(7))
    assert 1 == broken_blocks(ROWS, asked=asked, left=frozenset(range(7, 40)))
    assert 0 == broken_blocks(ROWS, asked=asked, left=frozenset())


def test_names_are_unique_and_said_if_not() -> None:
    """Two trials of one name could not be told apart in a report."""
    assert duplicate_name(ROWS) is None
    assert node_id(ROWS[3]) == duplicate_name([*ROWS, ROWS[3]])


def test_markers_of_a_plan_are_declared() -> None:
    """Strict markers hold: depths, fillers and a preset of one's own are declared with the plan."""
    lines = TrialNames("mine", "p1").declarations(ROWS)
    assert ["depth_2", "depth_8", "filler_0", "filler_32", "mine"] == [line.partition(":")[0] for line in lines]


@pytest.mark.parametrize(
    "arguments",
    [
        ("evals", "-m", "smoke and (braces or not natural)"),
        ("evals", "-k", "after and not GENERIC"),
        ("evals/test_active_stack.py", "-m", "smoke"),
        ("evals/test_scope_lookup.py::test_scope_lookup", "evals/test_ast_to_source.py", "-k", "typed"),
    ],
)
def test_dry_run_and_collection_agree(box: Box, arguments: tuple[str, ...]) -> None:
    """The number of trials priced by the controller is the number of items pytest collects."""
    listed = box.pytest(*arguments, "--collect-only", "-q")
    items = sum("::" in line for line in listed.text.splitlines())
    priced = box.pytest(*arguments)
    assert items > 0
    assert f"nothing was sent: {items} trials not_dispatched" in priced.text
    assert f"--max-generation-calls={items} " in priced.text
