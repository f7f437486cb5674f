"""The mock: what it answers per mode, that it depends on the trial alone, and that it never passes for a model."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from hashlib import sha256

import httpx
import pytest

from bench.backends.mock import MODES, mock_transport
from bench.backends.mock_rates import load_rates
from bench.data.gold import gold_to_json, read_gold
from bench.data.gold_row import GoldRow
from bench.lang.ast import Kind, Let, Nop, Program, Scope
from bench.lang.tree import program_to_json
from bench.plan.errors import PlanError
from bench.plan.records import ALL_SYNTAXES, SYNTAXES, TASKS, ScheduleRow
from bench.score.grade import judge
from bench.score.outcome import Outcome

URL = "https://mock.invalid/v1/responses"
PROGRAM = Program(
    (
        Let("x_a", 4130),
        Scope(Kind.UNIT, "n_aaaaaaaa", (Let("x_b", 5763), Scope(Kind.FUNC, "n_bbbbbbbb", (Nop("p_cccccccc"),)))),
    )
)
GOLD = {
    "scope_lookup": {"value": 4130},
    "active_stack": {"stack": ["n_aaaaaaaa", "n_bbbbbbbb"]},
    "ast_to_source": {"ast": program_to_json(PROGRAM)},
}
EPISODE = "EXAMPLES\nlet x_a 9999\n\nTEST\nlet x_a 4130\nlet x_b 5763\nlet x_c 8248\nprobe q_aaaaaaaa x_a\nAnswer:"


def request_body(number):
    return {
        "model": "gpt-5.6-terra",
        "instructions": "Read.",
        "input": [{"role": "user", "content": f"{EPISODE} {number}"}],
        "max_output_tokens": 8192,
        "reasoning": {"effort": "low"},
    }


def content(number):
    return json.dumps(request_body(number)).encode()


def schedule_row(number):
    task = TASKS[number // 5 % 3]
    return ScheduleRow(
        position=number,
        block=number // 5,
        trial_id=sha256(f"trial {number}".encode()).hexdigest(),
        case_id=f"case-{task}",
        family_id="f",
        task=task,
        view="program" if task == "ast_to_source" else "after_close",
        syntax=SYNTAXES[number % 5],
        lexical="natural" if number % 2 else "nonce",
        lexicon_set=None if number % 2 else 3,
        example_set=0,
        depth=2,
        filler=0,
        seed_index=0,
        lookup_kind="inner",
        replicate=0,
        request_sha256=sha256(content(number)).hexdigest(),
    )


def make_run(folder, trials):
    rows = [schedule_row(number) for number in range(trials)]
    (folder / "schedule.jsonl").write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    gold = [GoldRow(f"case-{task}", **answer) for task, answer in GOLD.items()]
    (folder / "gold.jsonl").write_text("".join(json.dumps(gold_to_json(row)) + "\n" for row in gold))
    return rows


def send(transport, data, path=""):
    with httpx.Client(transport=transport) as client:
        try:
            return client.post(URL + path, content=data)
        except httpx.TransportError as error:
            return error


def first_of_each_fault(run, rows):
    """The first answer of every fault, by what came back."""
    found, transport = {}, mock_transport("flawed", run)
    for row in rows:
        answer = send(transport, content(row.position))
        found.setdefault(kind_of(answer), row)
    return found


def kind_of(answer):
    """One word for what a client would see."""
    if isinstance(answer, httpx.TransportError):
        return type(answer).__name__
    if answer.status_code != 200:
        return f"{answer.status_code} {answer.json()['error']['code']}"
    try:
        body = answer.json()
    except ValueError:
        return "unreadable"
    if body["status"] != "completed":
        return body["status"]
    if body["usage"]["output_tokens"] >= 8192:
        return "suspected_truncation"
    parts = [part["type"] for item in body["output"] for part in item.get("content", [])]
    return parts[0] if parts else "no_text"


def text_of(answer):
    return "".join(part.get("text", "") for item in answer.json()["output"] for part in item.get("content", []))


def judged(answer, row, gold):
    """The outcome of an answer's text under the strict rules."""
    return judge(row, text_of(answer), gold[row.case_id])[0]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run folder of 3,000 trials, and its rows."""
    folder = tmp_path_factory.mktemp("mock-run")
    return folder, make_run(folder, 3000)


def test_oracle_is_right_on_every_task_notation_and_lexicon(run):
    """Gold answers, in the form the graders ask for: 30 combinations."""
    folder, rows = run
    transport, gold = mock_transport("oracle", folder), read_gold(folder)
    outcomes = {judged(send(transport, content(row.position)), row, gold) for row in rows[:30]}
    assert outcomes == {Outcome.CORRECT}


def test_planted_rates_are_those_of_the_file(run):
    """Accuracy per notation over 600 trials each lies within 5 points of what is planted; wrong is well-formed."""
    folder, rows = run
    transport, gold = mock_transport("planted", folder), read_gold(folder)
    outcomes = Counter((row.syntax, judged(send(transport, content(row.position)), row, gold)) for row in rows)
    assert {outcome for _, outcome in outcomes} == {
        Outcome.CORRECT,
        Outcome.WRONG_ANSWER,
        Outcome.VALID_SYNTAX_WRONG_AST,
    }
    rates = load_rates().planted.accuracy_per_mille
    assert set(ALL_SYNTAXES) == set(rates)
    for syntax, planted in ((syntax, rates[syntax]) for syntax in SYNTAXES):
        assert abs(outcomes[syntax, Outcome.CORRECT] / 600 - planted / 1000) < 0.05


def test_flawed_makes_every_kind_of_error(run):
    """Every model outcome and every infrastructure fault occurs, and each is what it claims to be."""
    folder, rows = run
    transport, gold = mock_transport("flawed", folder), read_gold(folder)
    answers = {row: send(transport, content(row.position)) for row in rows}
    kinds = Counter(map(kind_of, answers.values()))
    assert set(kinds) == {
        "429 rate_limit_exceeded",
        "500 server_error",
        "503 server_is_overloaded",
        "400 invalid_prompt",
        "failed",
        "ReadError",
        "ConnectError",
        "unreadable",
        "incomplete",
        "suspected_truncation",
        "refusal",
        "no_text",
        "output_text",
    }
    whole = {row: answer for row, answer in answers.items() if kind_of(answer) == "output_text"}
    outcomes = {judged(answer, row, gold) for row, answer in whole.items()}
    assert outcomes == {
        Outcome.CORRECT,
        Outcome.WRONG_ANSWER,
        Outcome.INVALID_ANSWER_FORMAT,
        Outcome.INVALID_GENERATED_SYNTAX,
        Outcome.VALID_SYNTAX_WRONG_AST,
    }


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_depends_on_the_trial_alone(run, mode):
    """Another process that sends the same trials in another order gets the same bytes, or the same failure."""
    folder, rows = run
    seen = []
    for order in (rows[:200], rows[199::-1]):
        transport = mock_transport(mode, folder)
        answers = {row.position: send(transport, content(row.position)) for row in order}
        seen.append({at: getattr(answer, "content", repr(answer)) for at, answer in answers.items()})
    assert seen[0] == seen[1]


def test_a_passing_fault_passes(run):
    """A rate limit lasts one attempt, an overload four: the next attempt is answered."""
    folder, rows = run
    found = first_of_each_fault(folder, rows[:400])
    for kind, attempts in {"429 rate_limit_exceeded": 1, "500 server_error": 2, "503 server_is_overloaded": 4}.items():
        transport = mock_transport("flawed", folder)
        kinds = [kind_of(send(transport, content(found[kind].position))) for _ in range(attempts + 1)]
        assert kinds[:attempts] == [kind] * attempts
        assert kinds[-1] != kind


def test_attempts_of_an_earlier_process_are_counted(tmp_path):
    """After a resume the mock goes on where the files say the trial stood."""
    rows = make_run(tmp_path, 300)
    row = first_of_each_fault(tmp_path, rows)["429 rate_limit_exceeded"]
    folder = tmp_path / "trials" / row.trial_id
    folder.mkdir(parents=True)
    for name in ("attempt-001-body.txt", "attempt-001-meta.json"):
        (folder / name).write_text("")
    answer = send(mock_transport("flawed", tmp_path), content(row.position))
    assert kind_of(answer) != "429 rate_limit_exceeded"


def test_usage_adds_up_and_equals_the_count(run):
    """Input is what counting said, reasoning lies inside output, the total is the sum, the limit is kept."""
    folder, rows = run
    transport = mock_transport("oracle", folder)
    for row in rows[:60]:
        count = send(transport, content(row.position), "/input_tokens").json()["input_tokens"]
        usage = send(transport, content(row.position)).json()["usage"]
        assert usage["input_tokens"] == count
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
        assert usage["output_tokens_details"]["reasoning_tokens"] < usage["output_tokens"] < 8192


def test_every_answer_says_that_it_is_synthetic(run):
    """Ids, returned model, metadata and errors: nothing can be taken for a provider's."""
    folder, rows = run
    transport = mock_transport("flawed", folder)
    for row in rows[:300]:
        answer = send(transport, content(row.position))
        if isinstance(answer, httpx.TransportError):
            assert "synthetic" in str(answer)
            continue
        assert answer.headers["x-request-id"].startswith("req_synthetic_")
        if answer.status_code == 200 and kind_of(answer) != "unreadable":
            body = answer.json()
            assert body["id"].startswith("resp_synthetic_")
            assert body["model"] == "synthetic-mock of gpt-5.6-terra"
            assert body["metadata"] == {"synthetic_mock": "true"}


def test_a_request_of_no_trial_is_refused(run):
    """One byte off the planned request is no trial: a wiring fault shows itself."""
    folder, _ = run
    answer = send(mock_transport("oracle", folder), content(0) + b" ")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "no_such_trial")


def test_without_a_plan_there_is_one_fixed_answer():
    """Preflight has no trials; its two calls are answered all the same."""
    transport = mock_transport("oracle")
    assert text_of(send(transport, content(0))) == "OK"
    assert send(transport, content(0), "/input_tokens").json()["input_tokens"] > 0


@pytest.mark.parametrize(
    ("mode", "complaint"),
    [
        ("optimistic", "unknown mock mode 'optimistic': one of oracle, flawed, planted"),
        ("oracle", "give a planned run"),
    ],
)
def test_a_wrong_mode_or_folder_is_one_line(tmp_path, mode, complaint):
    """What the mock cannot use is named before anything is sent."""
    with pytest.raises(PlanError, match=complaint):
        mock_transport(mode, tmp_path)


def test_the_rates_leave_room_for_right_answers():
    """In each table the errors take less than the whole thousand."""
    flawed = load_rates().flawed
    assert sum(flawed.reading_per_mille.values()) < 1000
    assert sum(flawed.writing_per_mille.values()) < 1000
    assert sum(rate.per_mille for rate in flawed.infrastructure.values()) < 1000
