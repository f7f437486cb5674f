"""The documents say what is so: their commands run, their links resolve, their options exist, their examples are made."""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from bench.cli.entry import APP, main
from bench.plugin.options import add_options
from tests.docs.document_commands import ROOT, Block, command_blocks, documents
from tests.docs.document_parts import made_parts, shown_parts, with_parts

PROTOCOL = ROOT / "docs" / "protocol.md"
README, README_JA = ROOT / "README.md", ROOT / "README.ja.md"

# every command that a document shows without a mark, and the exit code it is to end with, in the order they are run
EXECUTED = {
    "locality plan --preset smoke --phase p0 --out runs/smoke-offline": 0,
    "locality audit --run runs/smoke-offline": 0,
    "locality run --run runs/smoke-offline --mock": 0,
    "locality status --run runs/smoke-offline": 0,
    "locality score --run runs/smoke-offline": 0,
    "locality report --run runs/smoke-offline": 0,
    "locality verify --run runs/smoke-offline": 0,
    "pytest evals -m smoke": 0,
    'pytest evals -m "smoke and named_end" --mock': 0,
    'pytest evals --preset pilot --phase p0 -k "depth8 and after_close" --collect-only -q': 0,
    "locality resume --run runs/smoke-offline --mock": 0,
}
# executed by something else than this module
ELSEWHERE = {
    "python3 -m venv .venv && .venv/bin/pip install -e '.[local,test]'": "what .ci/run begins with",
    "scripts/check": "the same pieces in .ci/run",
    "scripts/check static": ".ci/run",
    ".venv/bin/pytest tests/run -q": "a part of this very suite",
    ".venv/bin/pytest tests -m slow": "the long campaigns, by whoever asks for them",
}
PYTEST_OPTIONS = {"--collect-only", "--tb", "--lf", "--dist", "--update-golden", "--rootdir", "--strict-markers"}
OTHER_OPTIONS = {"--help", "--user", "--out", "--experiments", "--latency-ms"}  # --out, …: programs in benchmarks/
OPTION = re.compile(r"(?<![\w/-])--[a-z][a-z-]*[a-z]")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def blocks() -> list[Block]:
    return [block for path in documents() for block in command_blocks(path)]


def unmarked() -> list[str]:
    """Commands that are to be executed, the quick start (which .ci/run executes word for word) aside."""
    return [
        command
        for block in blocks()
        if block.mark is None
        for command in block.commands
        if command not in quick_start(README)
    ]


def quick_start(path: Path) -> tuple[str, ...]:
    """The commands of the first block of a README, which is its quick start."""
    return next(command_blocks(path)).commands


def test_agents_and_claude_are_one_text():
    """AGENTS.md and CLAUDE.md hold the same bytes."""
    assert (ROOT / "AGENTS.md").read_bytes() == (ROOT / "CLAUDE.md").read_bytes()


def test_the_quick_start_is_two_commands():
    """The README's first block stands under Quick start and holds the two commands that .ci/run takes from there."""
    install = "python3 -m venv .venv && .venv/bin/pip install -q -e '.[local,test]' && "
    expected = (
        f'{install}.venv/bin/pytest evals -m "smoke and p0" --local',
        f"{install}.venv/bin/pytest tests -n 2",
    )
    text = README.read_text(encoding="utf-8")
    assert expected == quick_start(README)
    assert text.count("```bash", 0, text.index("## Quick start")) == 0


def test_both_readmes_show_the_same_commands():
    """README.ja.md shows exactly the commands of README.md, in order and with the same marks."""
    english, japanese = (
        [(block.mark, block.commands) for block in command_blocks(path)] for path in (README, README_JA)
    )
    assert english == japanese


def test_every_command_is_executed_or_marked():
    """A command in a document is in the table of executed ones, or its block is marked; the table holds no other."""
    shown = set(unmarked())
    assert (set(), set()) == (shown - set(EXECUTED) - set(ELSEWHERE), (set(EXECUTED) | set(ELSEWHERE)) - shown)


def test_commands_with_execute_are_marked_live():
    """What would send to a provider stands only in blocks that say so."""
    assert [] == [c for block in blocks() if block.mark != "live" for c in block.commands if "--execute" in c]


@pytest.fixture
def checkout(tmp_path):
    """A folder that looks like a checkout to whoever stands in it, so that nothing is written into this one."""
    shutil.copytree(ROOT / "evals", tmp_path / "evals", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "runs").mkdir()
    return tmp_path


def test_the_commands_do_what_the_documents_say(checkout, monkeypatch):
    """The executed commands, one after the other in one folder, end with the exit codes of the table."""
    monkeypatch.chdir(checkout)
    ended = {command: run(command, checkout) for command in EXECUTED}
    assert EXECUTED == {command: code for command, (code, _) in ended.items()}, "\n".join(
        f"$ {command}\n{text}" for command, (code, text) in ended.items() if code != EXECUTED[command]
    )


def run(command: str, folder: Path) -> tuple[int, str]:
    """Exit code and output; ``locality`` in this process unless it becomes pytest, to save its imports."""
    program, *arguments = shlex.split(command)
    if program == "locality" and arguments[0] not in ("run", "resume"):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return main(arguments), said.getvalue()
    module = "bench" if program == "locality" else "pytest"
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_ADDOPTS": "-p no:cacheprovider"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_every_command_of_locality_has_help():
    """``locality COMMAND --help`` ends with 0 for every command there is, and each is known by the documents or help."""
    commands = sorted(get_command(APP).commands)
    with contextlib.redirect_stdout(io.StringIO()):
        assert dict.fromkeys(commands, 0) == {name: main([name, "--help"]) for name in commands}


class Names:
    """Stands for pytest's parser and its group, and keeps the names of the options."""

    def __init__(self) -> None:
        self.options: set[str] = set()

    def getgroup(self, *_: str) -> "Names":
        return self

    def addoption(self, *names: str, **_: object) -> None:
        self.options |= set(names)


def plugin_options() -> set[str]:
    names = Names()
    add_options(names)
    return names.options


def locality_options() -> dict[str, set[str]]:
    """The options of each command of ``locality``."""
    return {
        name: {option for parameter in command.params for option in parameter.opts} | {"--help"}
        for name, command in get_command(APP).commands.items()
    }


def script_options() -> set[str]:
    """The options of the loop runner and the benchmarks."""
    scripts = [ROOT / "harness" / "scripts" / "loop-runner.py", *sorted((ROOT / "benchmarks").glob("*.py"))]
    return {option for script in scripts for option in re.findall(r'"(--[a-z-]+)"', script.read_text("utf-8"))}


def test_options_named_in_the_documents_exist():
    """Every option in a document is one of the command line, the pytest plugin, pytest itself or a script."""
    known = plugin_options() | script_options() | PYTEST_OPTIONS | OTHER_OPTIONS
    known |= {option for options in locality_options().values() for option in options}
    assert {} == {
        path.name: unknown
        for path in documents()
        if (unknown := sorted(set(OPTION.findall(path.read_text(encoding="utf-8"))) - known))
    }


def shown_uses() -> Iterator[tuple[str, str, list[str]]]:
    """Program, command of it, and options of every ``locality`` and ``pytest`` command shown, marked ones included."""
    for block in blocks():
        for command in block.commands:
            for part in command.split(" && "):
                words = shlex.split(part)
                program = words[0].removeprefix(".venv/bin/")
                if program in ("locality", "pytest"):
                    yield program, words[1], [word.partition("=")[0] for word in words if word.startswith("--")]


def test_commands_use_only_options_they_have():
    """Also commands that are not run here: each option belongs to that very command."""
    of_locality, of_pytest = locality_options(), plugin_options() | PYTEST_OPTIONS
    wrong = [
        (program, command, option)
        for program, command, options in shown_uses()
        for option in options
        if option not in (of_locality.get(command, set()) if program == "locality" else of_pytest)
    ]
    assert [] == wrong


def links(path: Path) -> Iterator[str]:
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for found in LINK.finditer(text):
        target = found[1] or found[2]
        if not re.match(r"[a-z]+:", target):
            yield target


def headings(path: Path) -> set[str]:
    """The anchors that a document's headings make."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def resolves(path: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (path.parent / name) if name else path
    return target.exists() and (not anchor or anchor in headings(target))


def test_every_relative_link_resolves():
    """Links between documents, to files and to headings, those of stored results included."""
    pages = {*documents(), *(ROOT / "docs").rglob("*.md")}
    assert [] == sorted(f"{page.name}: {link}" for page in pages for link in links(page) if not resolves(page, link))


PATHS = re.compile(r"`((?:bench|tests|configs|harness|scripts|evals|benchmarks|docs)/[\w./-]*\.(?:py|json|md|yaml))`")
OWN_PATHS = (README, README_JA, ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md", PROTOCOL)


@pytest.mark.parametrize("path", OWN_PATHS, ids=lambda path: path.name)
def test_files_named_in_the_documents_exist(path):
    """A file that a document names by its path in the repository is there."""
    named = set(PATHS.findall(path.read_text(encoding="utf-8"))) - {"configs/yours.json", "docs/calibration-table.md"}
    assert [] == sorted(name for name in named if not (ROOT / name).exists())


def test_the_protocol_shows_what_the_programs_make(tmp_path, request):
    """The examples, the table, the whole prompt and the calibration table in the protocol are the programs' own."""
    made, text = made_parts(tmp_path / "smoke"), PROTOCOL.read_text(encoding="utf-8")
    if request.config.getoption("--update-golden"):
        PROTOCOL.write_text(with_parts(text, made), encoding="utf-8")
        text = PROTOCOL.read_text(encoding="utf-8")
    assert made == shown_parts(text)
