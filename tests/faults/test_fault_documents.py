"""docs/reliability.md names tests; each of them exists, and each fault that a hostile server plays is in it."""

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.faults
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


def defined(file: Path) -> set[str]:
    """The functions and assigned names at the top of a module."""
    found: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED}))
def test_every_named_test_exists(file):
    """A test that was renamed or removed takes its line of the table along."""
    names = {name for named, name in NAMED if named == file}
    assert set() == names - defined(ROOT / file)


def test_the_table_is_not_empty():
    """The pattern that finds the names finds them."""
    assert len(NAMED) > 70


def test_every_file_of_this_folder_is_named():
    """A fault test that nobody can find from the page is not part of the promise."""
    here = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    assert here == {Path(file).name for file, _ in NAMED if "/faults/" in file} | {Path(__file__).name}


def test_each_line_of_a_table_names_its_test():
    """Tables with a column of tests have no empty cell in it."""
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and line.count(" | ") == 2]
    assert [] == [row[0] for row in rows if "`tests/" not in row[1] and row[1] != "test"]
