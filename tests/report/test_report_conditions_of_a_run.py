"""What a report says first, and what it must not show, in every state a run can be in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from bench.plan.errors import PlanError
from bench.report import summary_table, write_report
from bench.report.compose import compose
from bench.report.load import load_run
from bench.report.markdown import render_markdown
from tests.report.conftest import READING, answer_all, plan_run, record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.plan.plan_files import Plan
    from bench.plan.records import ScheduleRow
    from bench.run.records import TerminalRecord

LIVE = {"backend": "live", "synthetic_mock": False}
LOCAL = {"backend": "local", "synthetic_mock": False}
HOSTILE = (
    '\x1b]0;owned\x07\u202e=cmd()|"<script>alert(1)</script>\n```\n# not a heading\n![x](http://evil.example/x.png)'
)


def markdown(plan: Plan) -> str:
    return render_markdown(compose(load_run(plan.run_dir)))


def answered(plan: Plan, choose: Callable[[ScheduleRow, str], TerminalRecord | None]) -> str:
    answer_all(plan, choose)
    return markdown(plan)


def right_if(
    condition: Callable[[ScheduleRow], bool], **changes: object
) -> Callable[[ScheduleRow, str], TerminalRecord]:
    return lambda row, right: record(row, right if condition(row) else "0", **changes)


def always(_row: ScheduleRow) -> bool:
    return True


def test_nothing_sent_is_provisional(reading_run: Plan) -> None:
    """A planned run without any trial has a report, whose first line says provisional, and no verdict."""
    text = markdown(reading_run)
    assert text.startswith("PROVISIONAL: 80 of 80 planned trials are not terminal.")
    assert "Verdict: **withheld**" in text


def test_one_trial_short_is_provisional(reading_run: Plan) -> None:
    """A single open trial keeps the whole report provisional and the verdict withheld."""
    text = answered(reading_run, lambda row, right: None if row.position == 0 else record(row, right, **LIVE))
    assert text.startswith("PROVISIONAL: 1 of 80 planned trials are not terminal.")
    assert "Verdict: **withheld**" in text


def test_a_finished_run_says_complete(reading_run: Plan) -> None:
    """Nothing provisional is left once all trials are terminal."""
    assert answered(reading_run, right_if(always, **LIVE)).startswith("Complete: all 80 planned trials")


def test_missing_infrastructure_is_said_before_any_comparison(reading_run: Plan) -> None:
    """Above 1 % the warning stands before the first mention of D − B, and the verdict is withheld."""
    text = answered(
        reading_run,
        lambda row, right: (
            record(row, None, ending="transport_failure", **LIVE) if row.position < 2 else record(row, right, **LIVE)
        ),
    )
    assert 0 < text.index("Infrastructure failures: 2 of 80") < text.index("D − B")
    assert "Verdict: **withheld**" in text


def test_a_mock_is_marked_everywhere(planted_report: Path) -> None:
    """First line, title, summary, limits, page and terminal table say that no model was asked."""
    text = (planted_report / "report.md").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert "SYNTHETIC MOCK" in lines[0]
    assert "synthetic mock" in lines[2]
    assert "**SYNTHETIC MOCK: no model was asked." in text
    assert "This run is synthetic" in text.split("\n## ")[-1]
    assert "SYNTHETIC MOCK" in summary_table(planted_report)


def test_a_local_model_carries_its_caveat(reading_run: Plan) -> None:
    """A small base model: the instrument works, nothing about frontier models; and the API was not used."""
    text = answered(reading_run, right_if(always, **LOCAL))
    assert "they say nothing about frontier models" in text
    assert "Not run on the live API." in text
    assert "SYNTHETIC" not in text


def test_a_live_run_says_so(reading_run: Plan) -> None:
    """Only then does the row of the live API name this run, and the sentence that it was not used is gone."""
    text = answered(reading_run, right_if(always, **LIVE))
    assert "| run on the live API  | this run " in text
    assert "Not run on the live API." not in text


def test_tasks_that_were_not_planned_are_called_not_run(reading_run: Plan) -> None:
    """T2 and T3 each have their place in section 8, and it says not run."""
    section = markdown(reading_run).split("\n## ")[8]
    assert 2 == section.count("Not run: this plan does not contain the task.")


def test_no_correct_answer_has_no_price(reading_run: Plan) -> None:
    """Tokens per correct result is NA where nothing was correct, never 0."""
    answer_all(reading_run, right_if(lambda row: row.syntax == "named_end", **LIVE))
    write_report(reading_run.run_dir)
    rows = [line.split(",") for line in (reading_run.run_dir / "summary.csv").read_text(encoding="utf-8").splitlines()]
    at = rows[0].index("tokens_per_correct")
    found = {row[3]: row[at] for row in rows[1:] if row[2] == "all"}
    assert ("NA", "1032.0") == (found["braces"], found["named_end"])


def test_all_equal_is_degenerate_and_never_zero_width(reading_run: Plan) -> None:
    """With every difference zero no interval is printed, and the sentence says that this is not evidence of zero."""
    text = answered(reading_run, right_if(always, **LIVE))
    assert "D − B = **0.0 pp** (95 % interval not computed, flagged degenerate" in text
    assert "That is not evidence that the effect is exactly zero." in text
    assert "0.0 to 0.0" not in text


def test_an_interval_around_zero_says_what_it_could_have_missed(reading_run: Plan) -> None:
    """The smallest detectable difference stands beside it."""
    text = answered(
        reading_run,
        right_if(lambda row: (row.seed_index % 2 == 0) == (row.syntax == "named_end"), **LIVE),
    )
    assert (
        "The interval contains 0. With 8 families and the spread seen here, a true difference had to be about" in text
    )


def test_a_narrow_interval_is_explained(planted_report: Path) -> None:
    """The flag comes with the sentence that says how much such an interval covers."""
    text = (planted_report / "report.md").read_text(encoding="utf-8")
    assert "a nominal 95 % interval covers about 91 % at m = 4" in text


def test_hostile_answers_are_inert(reading_run: Plan) -> None:
    """Escapes, bidi marks, HTML, fences, images and formulas of an answer are characters in every product."""
    answer_all(reading_run, lambda row, _: record(row, HOSTILE, returned_model=HOSTILE, **LIVE))
    paths = write_report(reading_run.run_dir)
    for path in (paths.report_md, paths.report_html, *paths.csv_files):
        text = path.read_text(encoding="utf-8")
        assert set() == {"\x1b", "\x07", "\u202e"} & set(text)
    tokens = MarkdownIt("commonmark").enable("table").parse(paths.report_md.read_text(encoding="utf-8"))
    inner = [child for token in tokens for child in token.children or []]
    images = [child.attrs["src"] for child in inner if child.type == "image"]
    assert [] == [source for source in images if not str(source).startswith("figures/")]
    assert set() == {child.type for child in inner} & {"html_inline"}
    assert [] == [token.content for token in tokens if token.type == "html_block"]
    assert "<script" not in paths.report_html.read_text(encoding="utf-8").lower()
    assert "\x1b" not in summary_table(reading_run.run_dir)


def test_a_huge_answer_is_excerpted(reading_run: Plan) -> None:
    """Two mebibytes of answer in every failure leave a report that a person can open."""
    text = answered(
        reading_run,
        lambda row, _: record(row, "7" * 2**21, **LIVE) if row.position < 10 else record(row, "0", **LIVE),
    )
    assert len(text) < 200_000


@pytest.fixture
def confirmatory_run(tmp_path: Path) -> Plan:
    return plan_run(tmp_path / "main", phase="p0", **READING, confirmatory=True)


def half_done(plan: Plan) -> None:
    answer_all(plan, lambda row, right: record(row, right, **LIVE) if row.position < 40 else None)


def test_an_unfinished_confirmatory_run_is_blinded(confirmatory_run: Plan) -> None:
    """Ten sections, but no notation beside a number, no scores, no CSV, no figures; the table is pooled."""
    half_done(confirmatory_run)
    paths = write_report(confirmatory_run.run_dir)
    text = paths.report_md.read_text(encoding="utf-8")
    assert text.startswith("BLINDED. PROVISIONAL: 40 of 80")
    assert 10 == text.count("\n## ")
    shown = text.split("\n## ")[1] + "".join(text.split("\n## ")[3:])
    assert [] == [name for name in ("| A braces", "| D named_end", "Verdict", "accuracy-") if name in shown]
    assert {"report.md", "report.html", "analysis.json"} == {
        path.name for path in confirmatory_run.run_dir.iterdir()
    } & {"report.md", "report.html", "analysis.json", "scores.jsonl", "summary.csv", "errors.csv", "figures"}
    assert [] == json.loads((confirmatory_run.run_dir / "analysis.json").read_bytes())["contrasts"]
    table = summary_table(confirmatory_run.run_dir)
    assert "BLINDED" in table
    assert "named_end" not in table


def test_the_blind_view_does_not_open_a_blinded_run(confirmatory_run: Plan) -> None:
    """Asked for the pilot's blind view, an unfinished confirmatory run still shows pooled numbers only."""
    half_done(confirmatory_run)
    text = write_report(confirmatory_run.run_dir, blind=True).report_md.read_text(encoding="utf-8")
    assert text.startswith("BLINDED. PROVISIONAL")
    assert "| notation 1 " not in text


def test_unblinding_is_an_event_and_quoted_ever_after(confirmatory_run: Plan) -> None:
    """The blind lifted once stays lifted; the event and every later report say when and how far the run was."""
    half_done(confirmatory_run)
    write_report(confirmatory_run.run_dir, unblind=True)
    later = write_report(confirmatory_run.run_dir).report_md.read_text(encoding="utf-8")
    assert "**Unblinded before the stop rule was met, at " in later
    assert "with 40 of 80 trials terminal" in later
    assert later.startswith("PROVISIONAL")
    answer_all(confirmatory_run, right_if(always, **LIVE))
    assert "**Unblinded before the stop rule was met" in markdown(confirmatory_run)


def test_a_finished_confirmatory_run_is_shown_without_an_event(confirmatory_run: Plan) -> None:
    """Once the stop rule is met there is no blind to lift."""
    answer_all(confirmatory_run, right_if(always, **LIVE))
    text = write_report(confirmatory_run.run_dir, unblind=True).report_md.read_text(encoding="utf-8")
    assert text.startswith("Complete")
    assert not (confirmatory_run.run_dir / "events.jsonl").exists()


def test_the_blind_pilot_view_names_no_notation(reading_run: Plan) -> None:
    """Pooled accuracy by cell and five unlabelled notations; no letter, no name; nothing else is written or noted."""
    answer_all(reading_run, right_if(lambda row: row.syntax == "named_end", **LIVE))
    before = {path.name for path in reading_run.run_dir.iterdir()}
    paths = write_report(reading_run.run_dir, blind=True)
    text = paths.report_md.read_text(encoding="utf-8")
    assert [] == [name for name in ("named_end", "generic_end", "braces", "typed_end", "padded_end") if name in text]
    assert 5 == text.count("\n| notation ") - 1
    assert {"report-blind.md", "report-blind.html"} == {path.name for path in reading_run.run_dir.iterdir()} - before


def test_looking_at_a_pilot_is_noted_once(reading_run: Plan) -> None:
    """The first full report of a pilot writes an event; writing it again shows nothing new and adds none."""
    answer_all(reading_run, right_if(always, **LIVE))
    write_report(reading_run.run_dir)
    write_report(reading_run.run_dir)
    events = [json.loads(line) for line in (reading_run.run_dir / "events.jsonl").read_bytes().splitlines()]
    assert [("pilot_report_viewed", 80)] == [(event["kind"], event["terminal"]) for event in events]


def test_the_number_of_resamples_is_the_plans(tmp_path: Path) -> None:
    """The table of intervals says what was computed, not what is usual."""
    plan = plan_run(tmp_path / "run", phase="p0", **READING | {"bootstrap": {"resamples": 1500}})
    text = answered(plan, right_if(lambda row: row.syntax == "named_end"))
    assert "percentiles, 1,500 seeded resamples" in text
    assert "10,000" not in text


@pytest.mark.parametrize("text", ["{", "[]", ""])
def test_an_audit_that_is_none_is_refused_by_name(reading_run: Plan, text: str) -> None:
    """One line with the remedy instead of an error from somewhere inside a section."""
    (reading_run.run_dir / "audit.json").write_text(text)
    with pytest.raises(
        PlanError, match=r"audit\.json: expected an audit, got a file that is none; run `locality audit"
    ):
        load_run(reading_run.run_dir)
