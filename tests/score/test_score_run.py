"""Scoring a run directory: states, repeatability, refusals, and the joined table."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import pytest
from score_rows import terminal

from bench.plan.config import load_preset
from bench.plan.errors import PlanError
from bench.plan.plan_files import Plan
from bench.plan.planner import write_plan
from bench.run.ledger_records import (
    Intent,
    InvocationOpened,
    LedgerLine,
    Reserve,
    Settle,
    WindowOpened,
    encode_line,
)
from bench.run.records import TERMINAL_RECORD, AttemptTiming, UsageRecord
from bench.score.blinding import BlindedError, is_blinded
from bench.score.expected import expected_answers
from bench.score.fingerprint import grader_hash, judgements, read_vectors
from bench.score.inputs import Grader
from bench.score.outcome import Outcome
from bench.score.scores import read_scores, score_run
from bench.score.trials import load_trials
from bench.stats.denominators import counts

NOW = "2026-11-30T00:00:00Z"
USAGE = UsageRecord(input_tokens=900, output_tokens=5, total_tokens=905, cached_input_tokens=800)


def plan(out, *, preset="smoke", grader=None, **changes):
    config = load_preset(preset).model_copy(update=changes)
    write_plan(config, phase="p1", model=config.model, out=out, grader_hash=grader or grader_hash(), created_at=NOW)
    return out


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    return plan(tmp_path_factory.mktemp("planned") / "run")


@pytest.fixture
def run_dir(planned, tmp_path):
    shutil.copytree(planned, tmp_path / "run")
    return tmp_path / "run"


def end(run_dir, row, text, ending="answered", **changes):
    folder = run_dir / "trials" / row.trial_id
    folder.mkdir(parents=True, exist_ok=True)
    record = terminal(text, ending, trial_id=row.trial_id, **changes)
    (folder / "terminal.json").write_bytes(TERMINAL_RECORD.dump_json(record))


def answer_all(run_dir):
    rows = Plan.open(run_dir, verify=False).schedule
    right = expected_answers(run_dir, rows)
    for row in rows:
        end(run_dir, row, right[row.trial_id])
    return rows


def write_ledger(run_dir, *trials, series=1):
    """A ledger in which each named trial was sent; a settled one is closed without an end."""
    records = [
        InvocationOpened("i", "live", "boot", None, None, None, None, False, False, False, False),
        WindowOpened("2026-11-30", None),
    ]
    for number, (row, settled) in enumerate(trials):
        key = f"{number:064x}"
        records += [Reserve(key, row.trial_id, series, 1, "generate", 1000, None, None, "main"), Intent(key)]
        records += [Settle(key, 0, "stopped")] if settled else []
    lines = [encode_line(LedgerLine(n, NOW, n, record)) for n, record in enumerate(records, start=1)]
    (run_dir / "usage-ledger.jsonl").write_bytes(
        b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines)
    )


def test_right_answers_score_one_on_all_sixty(run_dir):
    """T1, T2 and T3 of the smoke plan, every notation: what Grader.expected says is correct."""
    answer_all(run_dir)
    rows = score_run(run_dir)
    assert {Outcome.CORRECT: 60} == Counter(row.outcome for row in rows)
    assert {(1, 1)} == {(row.strict, row.lenient) for row in rows}


def test_one_row_per_planned_trial_in_schedule_order(run_dir):
    """Nothing dispatched: sixty rows, all missing, none wrong."""
    rows = score_run(run_dir)
    assert [r.trial_id for r in Plan.open(run_dir, verify=False).schedule] == [row.trial_id for row in rows]
    assert {("not_dispatched", False, None)} == {(row.outcome.value, row.evaluable, row.strict) for row in rows}


def test_scores_come_back_byte_identical(run_dir):
    """Deleted and made again, or made twice: the same bytes, and no other file is touched."""
    answer_all(run_dir)
    score_run(run_dir)
    path = run_dir / "scores.jsonl"
    first = path.read_bytes()
    score_run(run_dir)
    again = path.read_bytes()
    path.unlink()
    before = sorted(p.name for p in run_dir.iterdir())
    score_run(run_dir)
    assert [first, first] == [again, path.read_bytes()]
    assert sorted([*before, "scores.jsonl"]) == sorted(p.name for p in run_dir.iterdir())


def test_rows_are_read_back_as_written(run_dir):
    """Fields as published, enum and diagnosis included."""
    rows = answer_all(run_dir)
    end(run_dir, rows[0], "not an answer")
    written = score_run(run_dir)
    assert written == read_scores(run_dir)
    fields = list(json.loads((run_dir / "scores.jsonl").read_text().splitlines()[0]))
    assert ["trial_id", "case_id", "outcome", "evaluable", "strict", "lenient", "reason", "diagnosis"] == fields


def test_derived_states(run_dir):
    """Sent without an end is ambiguous; refused with a wrong key waits; the rest was never sent."""
    rows = Plan.open(run_dir, verify=False).schedule
    write_ledger(run_dir, (rows[0], False), (rows[1], True))
    found = {row.trial_id: row for row in score_run(run_dir)}
    assert ["ambiguous_outcome", "not_dispatched", "not_dispatched"] == [
        found[row.trial_id].outcome.value for row in rows[:3]
    ]
    assert found[rows[1].trial_id].reason != found[rows[2].trial_id].reason


def test_a_record_of_an_earlier_series_does_not_end_a_trial_that_was_sent_again(run_dir):
    """Failed once, sent again by --retry-failed, nothing came back: ambiguous now, not the old failure."""
    row = Plan.open(run_dir, verify=False).schedule[0]
    end(run_dir, row, None, "transport_failure", series=1)
    write_ledger(run_dir, (row, False), series=2)
    found = load_trials(run_dir)[0]
    assert ("ambiguous_outcome", True, False) == (found.outcome.value, found.dispatched, found.terminal)


def test_denominators_from_files(run_dir):
    """One ambiguous, one pending again, one refused by the service, 57 answered."""
    rows = answer_all(run_dir)
    for row in rows[:2]:
        shutil.rmtree(run_dir / "trials" / row.trial_id)
    write_ledger(run_dir, (rows[0], False), (rows[1], True))
    end(run_dir, rows[2], None, "api_rejected")
    found = counts(load_trials(run_dir))
    assert (60, 59, 58, 57, 57) == (
        found.planned, found.dispatched, found.terminal, found.evaluable, found.correct,
    )  # fmt: skip
    assert (2, 1, 1) == (found.infrastructure_missing, found.not_dispatched, found.ambiguous)


def test_the_table_joins_tokens_and_times(run_dir):
    """Usage, attempts and seconds of the terminal record stand beside the score; unknown stays None."""
    row = Plan.open(run_dir, verify=False).schedule[0]
    attempts = [AttemptTiming(1, 2.0, 503), AttemptTiming(2, 3.0, 200), AttemptTiming(3, None, None)]
    end(run_dir, row, "1", usage=USAGE, attempts=attempts, backoff_s=1.5, total_s=7.0, returned_model="m-1")
    found = load_trials(run_dir)[0]
    assert (900, 5, 905, 800, None) == (
        found.input_tokens, found.output_tokens, found.total_tokens, found.cached_input_tokens, found.reasoning_tokens,
    )  # fmt: skip
    assert (3, 5.0, 1.5, 7.0, "m-1") == (
        found.attempts, found.attempt_s, found.backoff_s, found.total_s, found.returned_model,
    )  # fmt: skip
    assert found.non_reasoning_output_tokens is None
    assert found.dispatched
    assert not load_trials(run_dir)[1].dispatched


def test_wrong_lookups_are_diagnosed_from_the_plan(run_dir):
    """The program and the cut come from the family: every wrong T1 answer gets a reading."""
    rows = [row for row in Plan.open(run_dir, verify=False).schedule if row.task == "scope_lookup"]
    for row in rows:
        end(run_dir, row, "0")
    found = {row.trial_id: row for row in score_run(run_dir)}
    assert {"not_in_program"} == {found[row.trial_id].diagnosis["answered"] for row in rows}


def test_a_run_planned_for_another_grader_is_refused(tmp_path):
    """Answers are judged by the rules they were planned for, or not at all."""
    run_dir = plan(tmp_path / "run", grader="0" * 64)
    with pytest.raises(PlanError, match="another grader"):
        score_run(run_dir)
    assert not (run_dir / "scores.jsonl").exists()


@pytest.mark.parametrize("name", ["protocol.json", "families.jsonl", "cases.jsonl", "gold.jsonl", "schedule.jsonl"])
@pytest.mark.parametrize("look", [score_run, load_trials, is_blinded])
def test_nothing_is_graded_against_a_changed_plan(run_dir, name, look):
    """One byte of any plan file changed: every way to scores refuses and names the file, and writes nothing."""
    changed = bytearray((run_dir / name).read_bytes())
    at = changed.index(b"1", len(changed) // 2)  # a digit: the file still reads as what it was
    changed[at] = ord("2")
    (run_dir / name).write_bytes(changed)
    with pytest.raises(PlanError, match=name):
        look(run_dir)
    assert not (run_dir / "scores.jsonl").exists()


def test_an_unfinished_confirmatory_run_is_blinded(tmp_path):
    """No scores before the stop rule; with every trial terminal, or after an unblinding event, there are."""
    run_dir = plan(tmp_path / "run", confirmatory=True)
    rows = answer_all(run_dir)
    assert not is_blinded(run_dir)
    shutil.rmtree(run_dir / "trials" / rows[0].trial_id)
    assert is_blinded(run_dir)
    with pytest.raises(BlindedError, match="confirmatory"):
        score_run(run_dir)
    (run_dir / "events.jsonl").write_text(json.dumps({"at": NOW, "kind": "report_unblinded"}) + "\n")
    assert not is_blinded(run_dir)


def test_an_ordinary_run_is_never_blinded(run_dir):
    """Only a confirmatory preset hides anything."""
    assert not is_blinded(run_dir)


def test_the_live_letter_is_the_score(run_dir):
    """What the plugin shows when a report arrives is what score_run writes later."""
    rows = answer_all(run_dir)
    end(run_dir, rows[0], "???")
    grader = Grader(run_dir)
    later = {row.trial_id: row.outcome for row in score_run(run_dir)}
    assert later[rows[0].trial_id] == grader.score(rows[0], terminal("???")).outcome
    assert Outcome.NOT_DISPATCHED == grader.score(rows[1], None).outcome


def test_the_grader_hash_is_pinned():
    """A change here is a change of how answers are judged: raise GRADER_VERSION knowingly and pin the new value."""
    assert "b7d84f70578346fc890ce1b08f0909faf76871ee34f36ede8873ba74a66dcb7e" == grader_hash()


def test_the_vectors_cover_every_terminal_outcome():
    """All outcomes but the one that no record can have."""
    seen = {Outcome(judgement[0]) for judgement in judgements(read_vectors())}
    assert set(Outcome) - {Outcome.NOT_DISPATCHED} == seen


def test_another_judgement_of_one_vector_changes_the_hash():
    """The hash is over what is answered: one text changed, one judgement changed."""
    document = read_vectors()
    before = judgements(document)
    document["vectors"][0] = document["vectors"][0] | {"text": "five thousand"}
    assert before != judgements(document)
