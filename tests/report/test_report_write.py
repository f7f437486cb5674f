"""A report of a whole run: its ten sections, its files, and that they come back the same."""

from __future__ import annotations

import csv
import json
import re
import shutil
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from bench.report import write_report
from bench.report.compose import SECTION_TITLES
from bench.report.denominators import COUNT_COLUMNS
from bench.score.lookup_diagnosis import READINGS

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN = ("analysis.json", "summary.csv", "paired-comparisons.csv", "errors.csv", "report.md", "report.html")


class Elements(HTMLParser):
    """Collects elements with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def products(run_dir: Path) -> dict[str, bytes]:
    paths = [run_dir / name for name in WRITTEN] + sorted((run_dir / "figures").iterdir())
    return {str(path.relative_to(run_dir)): path.read_bytes() for path in paths}


def tables_of(markdown: str) -> list[list[str]]:
    """The header cells of every table, as a Markdown reader sees them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    heads: list[list[str]] = []
    for at, token in enumerate(tokens):
        if token.type == "thead_open":
            heads.append([])
        if token.type == "th_open":
            heads[-1].append(tokens[at + 1].content)
    return heads


def test_the_ten_sections_stand_in_order(planted_report: Path) -> None:
    """Section 11 names ten sections; both files have them, in this order and no other at that level."""
    markdown = (planted_report / "report.md").read_text(encoding="utf-8")
    assert list(SECTION_TITLES) == re.findall(r"^## (.+)$", markdown, re.MULTILINE)
    page = (planted_report / "report.html").read_text(encoding="utf-8")
    assert list(SECTION_TITLES) == re.findall(r"<h2>(.+?)</h2>", page)


def test_everything_comes_back_byte_for_byte(planted_report: Path, tmp_path: Path) -> None:
    """Deleting every product and writing again, in another folder, changes no byte."""
    before = products(planted_report)
    copy = shutil.copytree(planted_report, tmp_path / "run")
    shutil.rmtree(copy / "figures")
    for name in WRITTEN:
        (copy / name).unlink()
    write_report(copy)
    assert before == products(copy)


def test_markdown_and_html_have_the_same_tables(planted_report: Path) -> None:
    """As many tables, figures and code blocks in one file as in the other."""
    markdown = (planted_report / "report.md").read_text(encoding="utf-8")
    elements = [tag for tag, _ in Elements((planted_report / "report.html").read_text(encoding="utf-8")).found]
    expected = (len(tables_of(markdown)), markdown.count("!["), markdown.count("\n```text\n"))
    assert expected == (elements.count("table"), elements.count("svg"), elements.count("pre"))


def test_the_page_fetches_nothing_and_runs_nothing(planted_report: Path) -> None:
    """No element that loads or runs; references only inside the page; ids are unique."""
    found = Elements((planted_report / "report.html").read_text(encoding="utf-8")).found
    assert set() == {tag for tag, _ in found} & {"script", "link", "img", "iframe", "object", "embed", "image", "a"}
    references = [value for _, attrs in found for name, value in attrs.items() if name.endswith(("href", "src"))]
    assert [] == [value for value in references if not (value or "").startswith("#")]
    assert [] == [name for _, attrs in found for name in attrs if name.startswith("on")]
    ids = [attrs["id"] for _, attrs in found if "id" in attrs]
    assert len(set(ids)) == len(ids)
    assert set() == {(value or "")[1:] for value in references} - set(ids)


def test_every_accuracy_table_has_every_denominator(planted_report: Path) -> None:
    """A table that gives an accuracy also gives all denominators of 10.3 and correct / dispatched with its bound."""
    heads = tables_of((planted_report / "report.md").read_text(encoding="utf-8"))
    wanted = [column.title for column in COUNT_COLUMNS]
    with_accuracy = [head for head in heads if "95 % Wilson" in head]
    assert len(with_accuracy) > 10
    assert [] == [head for head in with_accuracy if head[-len(wanted) :] != wanted]
    assert [] == [head for head in with_accuracy if not {"correct / dispatched", "upper bound"} <= set(head)]


def test_figures_hold_no_date_and_their_numbers_stand_beside_them(planted_report: Path) -> None:
    """Each SVG has a CSV of the same name; no metadata names a time or a program version."""
    names = {path.stem: path.suffix for path in (planted_report / "figures").iterdir()}
    svgs = sorted((planted_report / "figures").glob("*.svg"))
    assert [path.stem for path in svgs] == sorted(names)
    assert [] == [
        path.name for path in svgs if b"<dc:date>" in path.read_bytes() or b"Matplotlib v" in path.read_bytes()
    ]


def test_csv_columns_carry_their_units(planted_report: Path) -> None:
    """Every numeric column says what it counts: share, pp, p, count, tokens or seconds."""
    units = re.compile(r"(share|_pp|_p|count|tokens\w*|seconds\w*|tokens_per_correct)$|seconds_")
    words = {"task", "view", "group", "notation", "letter", "role", "part", "contrast", "verdict", "flags", "lexical",
             "outcome", "reason", "diagnosis"}  # fmt: skip
    for name in ("summary.csv", "paired-comparisons.csv", "errors.csv"):
        with (planted_report / name).open(encoding="utf-8", newline="") as file:
            header = next(csv.reader(file))
        assert [] == [column for column in header if column not in words and not units.search(column)]


def test_the_analysis_file_has_the_fixed_names(planted_report: Path) -> None:
    """Scripts outside this project read ``primary`` and ``contrasts``."""
    document = json.loads((planted_report / "analysis.json").read_bytes())
    fields = {"task", "view", "contrast", "estimate_pp", "ci95_low_pp", "ci95_high_pp", "exact95_low_pp",
              "exact95_high_pp", "t95_low_pp", "t95_high_pp", "signflip_p", "families", "families_planned", "flags",
              "verdict"}  # fmt: skip
    assert fields == set(document["primary"])
    assert [] == [row for row in document["contrasts"] if set(row) != fields]


def test_regimes_stand_before_the_average(planted_report: Path) -> None:
    """Natural, nonce and their interaction, inner and outer are printed before the primary average of section 4."""
    section = (planted_report / "report.md").read_text(encoding="utf-8").split("\n## ")[4]
    places = [
        section.index(text) for text in ("| natural ", "| nonce ", "| interaction", "| inner", "| outer", "D − B = ")
    ]
    assert sorted(places) == places


def test_words_of_diagnoses_and_marks_without_a_bar_are_explained(planted_report: Path) -> None:
    """A reader of the report alone can tell what each reading of a wrong lookup is, and what a bare mark means."""
    text = (planted_report / "report.md").read_text(encoding="utf-8")
    told = next(line for line in text.split("\n") if line.startswith("The word is the reading of the program"))
    assert [reading for reading in READINGS if f"{reading}, " not in told] == []
    assert "(a mark without a bar has none); the primary one on top." in text


def test_the_planted_effect_is_found(planted_report: Path) -> None:
    """D was made better than B; the estimate lies on that side."""
    assert json.loads((planted_report / "analysis.json").read_bytes())["primary"]["estimate_pp"] > 0


@pytest.mark.parametrize(
    "state", ["implemented", "mock-verified", "run on a local model", "run on the live API", "main experiment done"]
)
def test_states_are_separate_words(planted_report: Path, state: str) -> None:
    """Five states, a row each."""
    assert 1 == (planted_report / "report.md").read_text(encoding="utf-8").count(f"\n| {state} ")
