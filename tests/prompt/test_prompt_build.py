"""Prompts byte for byte, and what a request is made of."""

import json
from dataclasses import dataclass

import pytest

from bench.data.expand import Questions, SetChoice, expand_family
from bench.data.generate import Generator, Slot
from bench.data.gold import gold_of
from bench.data.terms import SYNTAXES, TASKS
from bench.lang.syntax import ALL_NOTATIONS, NOTATIONS
from bench.plan.config import ModelSettings
from bench.plan.landmarks import landmarks_of
from bench.prompt.build import build_request, output_limit, request_bytes, request_sha256
from bench.prompt.episode import instructions, notation_hash, prompt_parts, template_hash
from bench.prompt.measure import measure
from bench.prompt.style import STANDARD, PromptStyle
from bench.wire.hashing import sha256_hex

FAMILY = Generator(20261005, 2).family(Slot("golden", "reading", "golden", "reading/4-2-1", 4, 2, 1))
QUESTIONS = Questions(list(TASKS), ["before_close", "after_close"], ["natural", "nonce"])
CASES = {case.case_id: case for case in expand_family(FAMILY, SetChoice(3, 5), QUESTIONS)}
MODEL = ModelSettings()


@dataclass
class OneFamily:
    """A plan of one family."""

    model: ModelSettings = MODEL
    prompt_style: PromptStyle = STANDARD

    def case(self, case_id):
        return CASES[case_id]

    def family(self, family_id):
        return FAMILY


@dataclass
class Row:
    """What a schedule row says of a request."""

    case_id: str
    syntax: str


def request_for(task, view, regime, syntax, model=MODEL):
    return build_request(OneFamily(model), Row(f"golden/{task}/{view}/{regime}", syntax))


@pytest.mark.parametrize("regime", ["natural", "nonce3"])
@pytest.mark.parametrize("syntax", SYNTAXES)
def test_the_whole_lookup_prompt(golden, syntax, regime):
    """Instructions, SYNTAX, eight examples and the test as they are sent."""
    request = request_for("scope_lookup", "after_close", regime, syntax)
    golden(f"prompt/scope_lookup-{syntax}-{regime}.txt", f"{request.instructions}\n\n{request.input[0].content}")


@pytest.mark.parametrize(("task", "view"), [("active_stack", "after_close"), ("ast_to_source", "program")])
def test_the_prompts_of_the_other_tasks(golden, task, view):
    """One notation and regime each; the rest differs as it does for lookups."""
    request = request_for(task, view, "nonce3", "named_end")
    golden(f"prompt/{task}-named_end-nonce3.txt", f"{request.instructions}\n\n{request.input[0].content}")


def test_the_lookup_instructions_are_those_of_the_specification():
    """Section 6.2, word for word."""
    assert instructions("scope_lookup") == (
        "You will read a prefix of a small scope language.\n"
        "Every block, regardless of its kind, creates a local scope.\n"
        "Statements are processed once, from top to bottom.\n"
        "A let statement binds a variable in the current scope.\n"
        "The nearest still-open scope containing the variable determines its value.\n"
        "Bindings in closed scopes are no longer visible.\n"
        "A nop statement has no effect.\n"
        "The final probe marks the observation point.\n"
        "Open blocks at the end of this prefix are intentional.\n"
        "Do not complete or repair the program.\n"
        "Return only the decimal integer visible at the final probe."
    )


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_the_test_ends_at_its_probe(syntax):
    """Nothing behind the probe but the answer's label, on which the message ends."""
    content = request_for("scope_lookup", "after_close", "natural", syntax).input[0].content
    probe = f"probe {FAMILY.after_cut.probe_id} {FAMILY.variable}"
    assert content.endswith(f"{probe}\nAnswer:")


def test_the_stack_task_shows_the_same_prefix_as_the_lookup():
    """The TEST section of T2 is that of T1."""
    tests = [
        request_for(task, "after_close", "natural", "braces").input[0].content.rpartition("\nTEST\n")[2]
        for task in ("scope_lookup", "active_stack")
    ]
    assert tests[0] == tests[1]


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.case_id)
def test_no_answer_of_a_test_is_in_a_request(case):
    """A lookup's value stands once, in its own let; a stack or a program stands nowhere as the answer would."""
    content = request_for(case.task, case.view, case.case_id.rpartition("/")[2], "named_end").input[0].content
    test = content.rpartition("\nTEST\n")[2]
    gold = gold_of(case, FAMILY)
    if gold.value is not None:
        assert 1 == test.count(str(gold.value))
    if gold.stack is not None:
        assert json.dumps(gold.stack) not in content
    assert "gold" not in content


def test_the_hash_is_that_of_the_exact_bytes_sent():
    """Canonical JSON with exactly the fields of 8.4."""
    request = request_for("scope_lookup", "after_close", "natural", "braces")
    data = request_bytes(request)
    assert sha256_hex(data) == request_sha256(request)
    body = json.loads(data)
    assert {
        "model": "gpt-5.6-terra",
        "reasoning": {"effort": "low"},
        "max_output_tokens": 8192,
        "store": False,
        "stream": False,
        "truncation": "disabled",
    } == {key: value for key, value in body.items() if key not in ("instructions", "input")}


def test_settings_that_are_null_are_not_sent_and_the_others_are():
    """No effort, but a temperature."""
    model = ModelSettings(reasoning_effort=None, temperature=0.5)
    body = json.loads(request_bytes(request_for("scope_lookup", "after_close", "natural", "braces", model)))
    assert (0.5, False, False) == (body["temperature"], "reasoning" in body, "top_p" in body)


@pytest.mark.parametrize(("task", "limit"), [("scope_lookup", 8192), ("active_stack", 8192), ("ast_to_source", 16384)])
def test_the_output_limit_belongs_to_the_task(task, limit):
    """It takes no notation, so all have the same."""
    assert limit == output_limit(task, MODEL)


def test_text_hashes_see_a_change_of_their_own_text_only(monkeypatch):
    """A further notation leaves the others' hashes alone; tasks have one each."""
    before = {syntax: notation_hash(syntax) for syntax in SYNTAXES}
    further = {**ALL_NOTATIONS, "other_end": NOTATIONS["named_end"]}
    monkeypatch.setattr("bench.prompt.episode.ALL_NOTATIONS", further)
    assert before == {syntax: notation_hash(syntax) for syntax in SYNTAXES}
    assert 5 == len(set(before.values()))
    assert 3 == len({template_hash(task) for task in TASKS})


@pytest.mark.parametrize("view", ["before_close", "after_close"])
@pytest.mark.parametrize("syntax", SYNTAXES)
def test_landmarks_point_at_their_lines(view, syntax):
    """Each offset, cut out of the message, is the line it is said to be; its line number counts the same place."""
    case = CASES[f"golden/scope_lookup/{view}/natural"]
    parts = prompt_parts(case, FAMILY, syntax)
    offsets = measure(parts, case.task, landmarks_of(FAMILY, case.cut))["offsets"]
    lines = {name: place and parts.message[place[1] :].split("\n")[0] for name, place in offsets.items()}
    gold = gold_of(case, FAMILY).value
    assert f"let {FAMILY.variable} {gold}" == lines["binding"]
    assert lines["probe"].startswith("probe q_")
    assert lines["focus_opener"].split()[0] in {"unit", "func", "area"}
    assert (lines["close_run"] is None) == (view == "before_close")
    assert lines["close_run"] is None or lines["close_run"].split()[0] in {"}", "end"}
    for name, place in offsets.items():
        if place is not None:
            assert lines[name] == parts.message.split("\n")[place[0]]
            assert place[2] == len(parts.message[: place[1]].encode())


def test_sizes_add_up_to_the_message():
    """Characters of syntax, examples and test together are the message's."""
    case = CASES["golden/scope_lookup/after_close/natural"]
    parts = prompt_parts(case, FAMILY, "braces")
    sizes = measure(parts, case.task, None)["sizes"]
    assert len(parts.message) == sum(sizes[name]["characters"] for name in ("syntax", "examples", "test"))
    assert 11 == sizes["instructions"]["lines"]
