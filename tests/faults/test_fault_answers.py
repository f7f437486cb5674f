"""Answers that try to act on who reads them, and one of 16 MiB: inert everywhere, and no process grows out of bounds."""

import csv
import html.parser
import io
import re
import unicodedata
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from bench.run.records_io import read_run_terminal
from bench.score.scores import read_scores
from tests.faults.worlds import FAST, TrialServer, answer, box_for, caps, plan_run
from tests.plugin.boxes import Session

pytestmark = pytest.mark.faults

HOSTILE = (
    "\x1b[2J\x1b[31mred\x1b]0;title\x07\x1b]52;c;ZWNobyBoaQ==\x07",
    "\x9b31m\x90q\x9c\x00\x07\x08\x08\x7f",
    "\u202egnp.exe\u2066\u200b\ufeff",
    "line\rover\x0bwritten\x0c\u2028\u2029next",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "</pre></td></table><iframe src='https://evil.example/'></iframe>",
    "![pixel](https://evil.example/p.png) [link](javascript:alert(1))",
    "| a | b |\n|---|---|\n# heading\n```\n<b>",
    '=HYPERLINK("https://evil.example/";"x")',
    "+1+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "-2+3;\t=1",
    "%s %(x)s {0} {x!r} $HOME `id`",
    "]]><a/>&entity;\ufffe\uffff",
)
MIB = 1024 * 1024
LARGE = "7" * (16 * MIB - 4096)  # with what stands around it, just below the limit of a body
MARK = "evil.example"
WATCH = """
import os, pathlib
import pytest

@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    peak = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
    kind = config.workerinput["workerid"] if hasattr(config, "workerinput") else "controller"
    (pathlib.Path({folder!r}) / f"peak-{{kind}}").write_text(peak)
"""


@dataclass(frozen=True)
class Aftermath:
    """A session whose model answered with these texts; then the 16 MiB one."""

    session: Session
    run: Path
    trials: list[str]
    junit: Path
    peaks_mib: dict[str, float]


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory):
    """One session of one worker: every hostile text, then the large one."""
    folder = tmp_path_factory.mktemp("answers")
    with TrialServer(keep_requests=False) as server:
        box = box_for(folder / "box", server.base_url)
        plan = plan_run(folder / "run", server.base_url)
        trials = server.assign(plan, [[answer(text)] for text in (*HOSTILE, LARGE)])
        watch = box.plugin("watch", WATCH.format(folder=str(folder)))
        flags = (*caps(), *FAST, "--accept-carryover", "-n1", "-rA", "-v", "--junitxml=junit.xml", watch)
        session = box.pytest("evals", f"--run={plan.run_dir}", *flags, timeout_s=600)
    peaks = {path.name.removeprefix("peak-"): int(path.read_text()) / 1024 for path in folder.glob("peak-*")}
    return Aftermath(session, plan.run_dir, trials, box.root / "junit.xml", peaks)


def test_every_answer_is_kept_and_judged(aftermath: Aftermath):
    """The texts are data: each is on the disk as it came, graded, and the session ends well."""
    assert 0 == aftermath.session.code, aftermath.session.text[-3000:]
    for trial, text in zip(aftermath.trials, (*HOSTILE, LARGE), strict=True):
        assert text == read_run_terminal(aftermath.run, trial).text
    scores = {row.trial_id: row.outcome for row in read_scores(aftermath.run)}
    assert {"wrong_answer", "invalid_answer_format"} >= {scores[trial] for trial in aftermath.trials}


def test_the_terminal_and_junit_show_nothing_of_them(aftermath: Aftermath):
    """No control character, no text of an answer; the junit file is one well-formed document."""
    assert "" == "".join(c for c in aftermath.session.text if unicodedata.category(c) in ("Cc", "Cf") and c != "\n")
    assert MARK not in aftermath.session.text
    assert 20 == len(ET.parse(aftermath.junit).findall(".//testcase"))
    assert MARK not in aftermath.junit.read_text()


def test_the_reports_have_no_acting_character(aftermath: Aftermath):
    """In report.md and report.html a hostile character is named, never written."""
    for name in ("report.md", "report.html"):
        text = (aftermath.run / name).read_text(encoding="utf-8")
        assert "" == "".join(c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c not in "\n\t")


class _Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        self.links += [name for name, _ in attrs if name.startswith("on")]


def acting(document: str) -> tuple[set[str], list[str]]:
    """Tags that do something, and links and handlers that lead out of the run directory."""
    tags = _Tags()
    tags.feed(document)
    outward = [link for link in tags.links if re.match(r"(on|javascript:|data:text|https?:.*evil)", link)]
    return tags.seen & {"script", "iframe", "object", "embed", "form"}, outward


def test_the_reports_have_no_tag_or_link_of_an_answer(aftermath: Aftermath):
    """report.md as a Markdown reader shows it, and report.html as a browser reads it."""
    shown = MarkdownIt("commonmark", {"html": True}).enable("table").render((aftermath.run / "report.md").read_text())
    assert (set(), []) == acting(shown)
    assert (set(), []) == acting((aftermath.run / "report.html").read_text())


def test_no_cell_of_a_csv_file_is_a_formula(aftermath: Aftermath):
    """A spreadsheet that opens them calculates nothing."""
    files = sorted(aftermath.run.rglob("*.csv"))
    assert files
    for path in files:
        for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))):
            acting_cells = [cell for cell in row if re.match(r"[=+@\t\r]|-(?![\d.]+$)", cell)]
            assert [] == acting_cells, path.name


def test_the_files_that_people_open_stay_small(aftermath: Aftermath):
    """Sixteen MiB of answer are cut in reports, tables and scores; only the trial's own folder holds them."""
    for path in aftermath.run.rglob("*"):
        if path.is_file() and "trials" not in path.relative_to(aftermath.run).parts:
            assert path.stat().st_size < 2 * MIB, path.name


def test_sixteen_mib_do_not_blow_the_memory(aftermath: Aftermath, capsys):
    """Peak resident sizes of the worker that received it, and of the controller that graded and reported it."""
    peaks = aftermath.peaks_mib
    with capsys.disabled():
        print(  # noqa: T201 - figures are for whoever runs the suite
            f"\n16 MiB answer: peak {peaks['gw0']:.0f} MiB in the worker, {peaks['controller']:.0f} MiB in the controller"
        )
    assert peaks["gw0"] < 60 + 10 * 16
    assert peaks["controller"] < 350
