"""Every import contract of pyproject.toml is kept, and breaks when somebody plants the import that it forbids."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]

PLANTS = (
    ("layers", "data/uniform.py", "import bench.plan.errors"),
    ("layers", "attic/__init__.py", ""),
    ("no-circles", "plan/schedule.py", "import bench.plan.planner"),
    ("client-knows-no-experiment", "llm/body.py", "import bench.lang.ast"),
    ("oracles-share-no-code-1", "lang/reference_oracle.py", "import bench.lang.events, bench.lang.parse"),
    ("oracles-share-no-code-2", "lang/event_oracle.py", "import bench.lang.walk, bench.lang.render"),
    ("gold-is-closed", "plan/freeze.py", "import bench.data.gold"),
    ("gold-is-closed", "backends/local_spec.py", "import bench.data.gold"),
    ("prompt-never-sees-gold", "data/terms.py", "import bench.data.gold"),
    ("after-the-run-nothing-sends", "run/states.py", "import bench.run.trial"),
    ("pytest-and-typer-at-the-edge", "backends/planning.py", "import pytest"),
    ("lean-sender", "wire/hashing.py", "import pandas"),
)
"""Contract, file and the line planted in it; some are indirect, and one is a package that no layer names."""

SESSION = """
import json, shutil, sys
from pathlib import Path
sys.path.insert(0, "")
from importlinter.cli import lint_imports

def lint(*contracts):
    print("<lint>")
    lint_imports(limit_to_contracts=contracts, cache_dir=".cache", no_logo=True)

lint()
for contract, file, line in json.loads(sys.argv[1]):
    path = Path("bench", file)
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{before or ''}\\n{line}\\n")
    lint(contract)
    if before is None:
        shutil.rmtree(path.parent)
    else:
        path.write_text(before)
"""
"""One process for all, because most of what the linter takes is its own start."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """What the linter says of a copy of the package: as it is, then once for each plant."""
    folder = tmp_path_factory.mktemp("planted")
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(ROOT / "bench", folder / "bench", ignore=shutil.ignore_patterns("__pycache__", "*.json"))
    command = [sys.executable, "-c", SESSION, json.dumps(PLANTS)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.split("<lint>\n")[1:]


def test_contracts_are_kept_as_the_code_stands(reports):
    """Nothing is planted yet: all are kept."""
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in reports[0], reports[0]


@pytest.mark.parametrize("number", range(len(PLANTS)), ids=[f"{plant[0]}, {plant[1]}" for plant in PLANTS])
def test_a_planted_import_breaks_its_contract(reports, number):
    """One line more, and the contract no longer holds."""
    assert "Contracts: 0 kept, 1 broken." in reports[1 + number], reports[1 + number]


def test_every_contract_has_a_plant():
    """A contract that nothing can break says nothing."""
    assert {contract["id"] for contract in CONTRACTS} == {contract for contract, _, _ in PLANTS}
