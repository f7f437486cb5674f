"""Looking at answers: one trial beside its siblings, two runs pair by pair, and a run as a table with its dictionary."""

import csv
import io
import random
import re
import shutil

import pytest

from bench.cli import main
from bench.plan.errors import PlanError
from bench.plan.plan_files import Plan
from bench.prompt.build import build_request
from bench.report.export import export_run
from bench.report.export_fields import FIELDS, dictionary_text
from bench.report.run_diff import ComparisonError, diff_lines, diff_runs, pairs_csv
from bench.report.show import aligned, show_trial
from bench.score.blinding import BlindedError
from bench.score.inputs import Grader
from bench.score.trials import load_trials
from tests.report.conftest import READING, answer_all, plan_run, planted, record, store

HOSTILE = "\x1b[31m=1+1\u202e\n<script>| 42"


def first(plan, task="scope_lookup", view="after_close", syntax="named_end"):
    """The first row of a task, view and notation in natural words."""
    wanted = (task, view, syntax, "natural")
    return next(row for row in plan.schedule if (row.task, row.view, row.syntax, row.lexical) == wanted)


# show


def test_a_trial_stands_beside_its_siblings(planted_template):
    """Prompt whole, every notation's answer and outcome, the right answer once, and the tests column by column."""
    plan = Plan.open(planted_template)
    row = first(plan)
    text = show_trial(planted_template, row.trial_id[:10])
    right = Grader(planted_template).expected(row)
    assert f"right answer: {right}" in text
    assert all(line in text for line in build_request(plan, row).input[0].content.split("\n"))
    table = [line for line in text.split("\n") if line.startswith(("A ", "B ", "C ", "D ", "E ")) and "  " in line]
    assert ["D", "A", "B", "C", "E"] == [line[0] for line in table[:5]]
    header = next(line for line in text.split("\n") if line.startswith("D named_end") and "E padded_end" in line)
    assert header.index("A braces") < header.index("B generic_end") < header.index("E padded_end")


def test_lines_of_all_notations_are_the_same_events(reading_run):
    """A let stands in one line of the side-by-side view in every column; closing lines differ in the same place."""
    row = first(reading_run)
    lines = show_trial(reading_run.run_dir, row.trial_id).split("\n")
    block = lines[next(at for at, line in enumerate(lines) if line.startswith("The test in every notation")) :]
    lets = [line.split() for line in block if line.startswith("let ")]
    assert lets
    assert all(words == words[:3] * 5 for words in lets if len(words) == 15)
    assert any(line.startswith("end ") and "junk z_aaaaaaaa" in line and "}" in line for line in block)


@pytest.mark.parametrize("command", ["score", "report", "show", "diff", "export", "power"])
def test_nothing_is_shown_of_a_changed_plan(planted_run, planted_template, command, capsys):
    """A right answer edited by one digit: no command grades against it, each names the file, nothing is written."""
    gold = planted_run / "gold.jsonl"
    trial = Plan.open(planted_run).schedule[0].trial_id
    before = {path.name for path in planted_run.iterdir()}
    text = gold.read_text(encoding="utf-8")
    digit = re.search(r'"value":(\d)', text)
    gold.write_text(f"{text[: digit.start(1)]}{(int(digit[1]) % 9) + 1}{text[digit.end(1) :]}", encoding="utf-8")
    arguments = {
        "show": ["show", trial, "--run", str(planted_run)],
        "diff": ["diff", str(planted_template), str(planted_run)],
    }
    assert main(arguments.get(command, [command, "--run", str(planted_run)])) == 4
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert "gold.jsonl: not the file that was planned; restore it" in shown.err
    assert {path.name for path in planted_run.iterdir()} == before


def test_a_trial_that_was_not_sent_shows_what_would_be(reading_run):
    """The prompt is built; there is no answer yet."""
    row = first(reading_run)
    text = show_trial(reading_run.run_dir, row.trial_id)
    assert "(not sent)" in text
    assert "not_dispatched" in text
    assert "SYNTAX" in text


def test_hostile_answers_are_inert(reading_run):
    """No escape sequence, no bidi mark, no line of its own that could be taken for ours."""
    row = first(reading_run)
    store(reading_run.run_dir, record(row, HOSTILE))
    text = show_trial(reading_run.run_dir, row.trial_id)
    assert not {"\x1b", "\u202e"} & set(text)
    assert "⟨U+001B⟩" in text
    assert "  <script>| 42" in text.split("\n")


def test_whole_programs_are_shown_with_the_right_one(planted_template):
    """T3: the right answer depends on the notation, so each has its own."""
    row = first(Plan.open(planted_template), "ast_to_source", "program")
    text = show_trial(planted_template, row.trial_id)
    assert 5 == text.count("Right answer in ")
    assert "Right answer in D named_end:" in text


@pytest.mark.parametrize("wanted", ["", "zzzz", "\x1b[2J"])
def test_an_unknown_trial_is_named(planted_template, wanted):
    """One harmless line."""
    with pytest.raises(PlanError, match="no trial id of") as raised:
        show_trial(planted_template, wanted)
    assert "\x1b" not in str(raised.value)


def test_too_little_of_an_id_is_refused(planted_template):
    """Some digit begins several of the ids; the message counts them."""
    plan = Plan.open(planted_template)
    digit = plan.schedule[0].trial_id[0]
    number = sum(row.trial_id.startswith(digit) for row in plan.schedule)
    with pytest.raises(PlanError, match=f"{number} trials begin like this"):
        show_trial(planted_template, digit)


# diff


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """The same families at two efforts, both complete: left is planted by one seed, right by another."""
    folder = tmp_path_factory.mktemp("two")
    for name, effort in (("left", "low"), ("right", "medium")):
        plan = plan_run(folder / name, phase="p0", model={"reasoning_effort": effort}, **READING)
        dice = random.Random(name)
        answer_all(plan, lambda row, right, dice=dice: planted(row, right, dice=dice))
    return folder / "left", folder / "right"


def test_two_runs_are_compared_pair_by_pair(two_runs):
    """Every case, notation and replicate once; the sums of the table are those of the runs."""
    diff = diff_runs(*two_runs)
    assert (80, 0, 0) == (len(diff.pairs), diff.left_only, diff.right_only)
    assert all(pair.left.row.case_id == pair.right.row.case_id for pair in diff.pairs)
    assert all(pair.left.row.syntax == pair.right.row.syntax for pair in diff.pairs)
    rows = [line for line in diff_lines(diff) if line.startswith("T1 scope lookup, after closes")]
    by_hand = [trial.strict for trial in load_trials(two_runs[0]) if trial.row.syntax == "named_end"]
    assert 5 == len(rows)
    assert f"{100 * sum(by_hand) / len(by_hand):.1f} %" in rows[3]


def test_it_says_what_differs_in_the_protocols(two_runs):
    """Here: the effort, in what is sent and in the preset's own words; nothing that follows from it."""
    assert [("config.model.reasoning_effort", "low", "medium"), ("model.reasoning_effort", "low", "medium")] == list(
        diff_runs(*two_runs).protocol
    )


def test_a_run_differs_in_nothing_from_its_copy(two_runs, tmp_path):
    """No key, no pair."""
    copy = shutil.copytree(two_runs[0], tmp_path / "copy")
    diff = diff_runs(two_runs[0], copy)
    assert ((), []) == (diff.protocol, diff.changed)
    assert "0 pairs with another outcome." in list(diff_lines(diff))


def test_every_pair_can_be_had_as_csv(two_runs):
    """One row a pair, scores as numbers, missing ones empty."""
    diff = diff_runs(*two_runs)
    rows = list(csv.DictReader(io.StringIO(pairs_csv(diff))))
    assert [str(pair.left.strict) for pair in diff.pairs] == [row["left_strict"] for row in rows]
    assert len({(row["case_id"], row["syntax"], row["replicate"]) for row in rows}) == len(rows)


def test_what_cannot_be_compared_is_refused(two_runs, reading_run, tmp_path):
    """Unfinished runs, and runs about other families."""
    with pytest.raises(ComparisonError, match="80 of 80 trials have not ended"):
        diff_runs(two_runs[0], reading_run.run_dir)
    other = {**READING, "reading": {"depths": [4], "fillers": [8], "seeds_per_cell": 2}}
    run = tmp_path / "other"
    plan = plan_run(run, phase="p0", **other)
    answer_all(plan, record)
    with pytest.raises(ComparisonError, match="share no case"):
        diff_runs(two_runs[0], run)


# export


def test_the_table_has_a_row_per_planned_trial(planted_run):
    """Values are those of the scored trials; missing is empty; the same run gives the same bytes."""
    written = export_run(planted_run, planted_run / "export")
    rows = list(csv.DictReader(io.StringIO(written.csv.read_text(encoding="utf-8"))))
    trials = load_trials(planted_run)
    assert [trial.row.trial_id for trial in trials] == [row["trial_id"] for row in rows]
    assert [trial.outcome.value for trial in trials] == [row["outcome"] for row in rows]
    assert ["" if trial.strict is None else str(trial.strict) for trial in trials] == [row["strict"] for row in rows]
    again = export_run(planted_run, planted_run / "again")
    assert written.csv.read_bytes() == again.csv.read_bytes()


def test_table_and_dictionary_are_made_from_one_definition(planted_run):
    """Every column is described once, in order, and nothing else is."""
    written = export_run(planted_run, planted_run / "export")
    header = next(csv.reader(io.StringIO(written.csv.read_text(encoding="utf-8"))))
    described = [line.split("`")[1] for line in dictionary_text().splitlines() if line.startswith("| `")]
    assert header == described == [field.name for field in FIELDS]
    assert dictionary_text() == written.dictionary.read_text(encoding="utf-8")


def test_values_are_of_the_type_that_the_dictionary_says(planted_run):
    """And a column that is a share of nothing is not there: every field has a value somewhere or is optional."""
    from bench.report.export import export_rows

    kinds = {"text": str, "integer": int, "number": float, "boolean": bool}
    for row in export_rows(planted_run):
        for field in FIELDS:
            value = field.value(row)
            assert (
                value is None or type(value) is kinds[field.type] or (field.type == "text" and isinstance(value, str))
            )


def test_an_exported_answer_is_no_formula(reading_run):
    """What a spreadsheet would run, and what acts without being seen, is text."""
    row = first(reading_run)
    store(reading_run.run_dir, record(row, "=HYPERLINK(1)\x1b\nx"))
    written = export_run(reading_run.run_dir, reading_run.run_dir / "export")
    rows = list(csv.DictReader(io.StringIO(written.csv.read_text(encoding="utf-8"))))
    answer = next(found["answer"] for found in rows if found["trial_id"] == row.trial_id)
    assert "'=HYPERLINK(1)⟨U+001B⟩⏎x" == answer


def test_parquet_holds_the_same_table(planted_run):
    """Where pyarrow is installed: same columns, same numbers, nulls for what is missing."""
    pytest.importorskip("pyarrow")
    import pandas as pd

    written = export_run(planted_run, planted_run / "export")
    frame = pd.read_parquet(written.parquet)
    assert [field.name for field in FIELDS] == list(frame.columns)
    assert [trial.strict for trial in load_trials(planted_run)] == [
        None if pd.isna(value) else int(value) for value in frame["strict"]
    ]


def test_without_pyarrow_the_csv_is_there_and_a_line_says_so(planted_run, monkeypatch, capsys):
    """The extra is named."""
    monkeypatch.setattr("bench.report.export.find_spec", {}.get)
    assert 0 == main(["export", "--run", str(planted_run)])
    out = capsys.readouterr().out
    assert "pip install 'syntax-locality-icl[export]'" in out
    assert (planted_run / "export" / "trials.csv").is_file()


# all of them


def test_a_blinded_run_shows_nothing(tmp_path, two_runs, capsys):
    """Confirmatory and not finished: show, diff and export refuse with one line, exit 4, and write nothing."""
    plan = plan_run(tmp_path / "run", phase="p0", confirmatory=True, **READING)
    row = first(plan)
    store(plan.run_dir, record(row, "1234"))
    for look in (
        lambda: show_trial(plan.run_dir, row.trial_id),
        lambda: diff_runs(plan.run_dir, two_runs[0]),
        lambda: export_run(plan.run_dir, tmp_path / "out"),
    ):
        with pytest.raises(BlindedError, match="nothing is scored by notation"):
            look()
    assert not (tmp_path / "out").exists()
    assert 4 == main(["show", row.trial_id, "--run", str(plan.run_dir)])
    assert 4 == main(["diff", str(two_runs[0]), str(plan.run_dir)])
    assert 4 == main(["export", "--run", str(plan.run_dir)])
    assert 3 == capsys.readouterr().err.count("\n")


def test_the_commands_print_what_was_found(two_runs, tmp_path, capsys):
    """show and diff on the command line."""
    row = first(Plan.open(two_runs[0]))
    assert 0 == main(["show", row.trial_id[:12], "--run", str(two_runs[0])])
    assert 0 == main(["diff", *map(str, two_runs), "--csv", str(tmp_path / "pairs.csv")])
    out = capsys.readouterr().out
    assert f"trial {row.trial_id}" in out
    assert "model.reasoning_effort" in out
    assert 81 == len((tmp_path / "pairs.csv").read_text(encoding="utf-8").splitlines())


def test_columns_are_flush_left():
    """Widths are those of the widest cell; lines end without blanks."""
    assert ["a    b", "ccc"] == aligned([("a", "b"), ("ccc", "")])


def test_a_damaged_request_falls_back_to_what_the_plan_asks(reading_run):
    """A stored request that cannot be read is no reason to show nothing."""
    row = first(reading_run)
    store(reading_run.run_dir, record(row, "1"))
    (reading_run.run_dir / "trials" / row.trial_id / "request.json").write_text("{", encoding="utf-8")
    assert "SYNTAX" in show_trial(reading_run.run_dir, row.trial_id)
