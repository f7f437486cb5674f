"""What counts as correct, what is a format error, and what no text can do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_rows import AFTER, BEFORE, MINI, row, terminal

from bench.lang.ast import CutPoint
from bench.lang.lexicon import NONCE_SETS, lexicon_for
from bench.lang.reference_oracle import observe
from bench.lang.render import render_program
from bench.lang.syntax import NOTATIONS, RenderSpec
from bench.lang.tree import program_to_json
from bench.plan.records import SYNTAXES, TASKS, GoldRow
from bench.score.fence import without_fence
from bench.score.grade import GradeContext, grade
from bench.score.outcome import MISSING, MODEL_EVALUABLE, Outcome
from bench.score.prefix import Prefix, SeenScope, read_prefix

VALUE = GoldRow("c", value=5916)
STACK = GoldRow("c", stack=["n_qazwsxed", "n_plmoknij"])
TREE = GoldRow("c", ast=program_to_json(MINI))
GOLD = dict(zip(TASKS, (VALUE, STACK, TREE), strict=True))
CONTEXT = GradeContext(MINI, AFTER)
LEXICONS = (None, *range(NONCE_SETS))


def outcome(text, task="scope_lookup", **where):
    return grade(row(task, **where), terminal(text), GOLD[task], CONTEXT).outcome.value


def source(syntax="named_end", lexicon_set=None):
    return render_program(MINI, RenderSpec(NOTATIONS[syntax], lexicon_for(lexicon_set)))


def test_the_gold_of_these_tests_is_the_oracles():
    """5916 and the two open blocks, by the reference oracle."""
    seen = observe(MINI, AFTER)
    assert (5916, ("n_qazwsxed", "n_plmoknij")) == (seen.value, seen.active_scopes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5916", "correct"),
        ("  5916\n", "correct"),
        ("\r\n\t5916", "correct"),
        ("8604", "wrong_answer"),
        ("-5916", "wrong_answer"),
        ("0", "wrong_answer"),
        ("9" * 5000, "wrong_answer"),
        ("answer: 5916", "invalid_answer_format"),
        ("5916.", "invalid_answer_format"),
        ("5916.0", "invalid_answer_format"),
        ("+5916", "invalid_answer_format"),
        ("05916", "invalid_answer_format"),
        ("5,916", "invalid_answer_format"),
        ("5_916", "invalid_answer_format"),
        ("5 916", "invalid_answer_format"),
        ("5916\n5916", "invalid_answer_format"),
        ("٥٩١٦", "invalid_answer_format"),
        ("\uff15\uff19\uff11\uff16", "invalid_answer_format"),
        ("5\u0669\u0661\u0666", "invalid_answer_format"),
        ("```\n5916\n```", "invalid_answer_format"),
        ("5916\u200b", "invalid_answer_format"),
        ("", "invalid_answer_format"),
        ("  \n", "invalid_answer_format"),
    ],
)
def test_lookup(text, expected):
    """The whole answer is one decimal integer in ASCII digits, or it is a format error."""
    assert expected == outcome(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["n_qazwsxed", "n_plmoknij"]', "correct"),
        ('\n[ "n_qazwsxed",\n "n_plmoknij" ] ', "correct"),
        ('["n_qazwsxed", "n_plmokni\\u006a"]', "correct"),
        ('["n_plmoknij", "n_qazwsxed"]', "wrong_answer"),
        ('["n_qazwsxed"]', "wrong_answer"),
        ("[]", "wrong_answer"),
        ('["n_qazwsxed", "n_plmoknij", "n_uhbygvtf"]', "wrong_answer"),
        ('["N_QAZWSXED", "n_plmoknij"]', "wrong_answer"),
        ('["n_qazwsxed", 1]', "invalid_answer_format"),
        ('{"a": "n_qazwsxed"}', "invalid_answer_format"),
        ('"n_qazwsxed"', "invalid_answer_format"),
        ("['n_qazwsxed', 'n_plmoknij']", "invalid_answer_format"),
        ('["n_qazwsxed", "n_plmoknij",]', "invalid_answer_format"),
        ('["n_qazwsxed", "n_plmoknij"] done', "invalid_answer_format"),
        ('The stack is ["n_qazwsxed", "n_plmoknij"]', "invalid_answer_format"),
        ('```json\n["n_qazwsxed", "n_plmoknij"]\n```', "invalid_answer_format"),
        ("[" * 100_000, "invalid_answer_format"),
        ("", "invalid_answer_format"),
    ],
)
def test_stack(text, expected):
    """The whole answer is a JSON array of strings; names and order are exact."""
    assert expected == outcome(text, "active_stack")


@pytest.mark.parametrize(
    ("task", "text", "reason"),
    [
        ("scope_lookup", "5916", "exact value"),
        ("scope_lookup", "8604", "another integer"),
        ("scope_lookup", "five", "not one decimal integer"),
        ("scope_lookup", " \n", "no answer text"),
        ("active_stack", json.dumps(STACK.stack), "exact stack"),
        ("active_stack", "[]", "another stack"),
        ("active_stack", "{}", "not a JSON array of strings"),
        ("active_stack", " \n", "no answer text"),
        ("ast_to_source", source(), "equal tree"),
        ("ast_to_source", source().replace("5916", "5917"), "another tree"),
        ("ast_to_source", "unit", "first error: malformed_statement"),
        ("ast_to_source", " \n", "no answer text"),
    ],
)
def test_reasons_of_answers(task, text, reason):
    """The words that tables of reasons count, for every way an answer can be judged."""
    assert reason == grade(row(task), terminal(text), GOLD[task]).reason


@pytest.mark.parametrize("syntax", SYNTAXES)
@pytest.mark.parametrize("lexicon_set", LEXICONS)
def test_the_right_source_is_correct_everywhere(syntax, lexicon_set):
    """T3 gold scores 1 in every notation and lexicon, with blank lines, indentation and CRLF too."""
    text = source(syntax, lexicon_set)
    loose = "\r\n".join("  " + line for line in ("\n" + text).split("\n"))
    assert ["correct", "correct"] == [
        outcome(t, "ast_to_source", syntax=syntax, lexicon_set=lexicon_set) for t in (text, loose)
    ]


@pytest.mark.parametrize("task", ["scope_lookup", "active_stack"])
@pytest.mark.parametrize("syntax", SYNTAXES)
def test_oracle_answers_are_correct_everywhere(task, syntax):
    """T1 and T2 gold scores 1 whatever notation and lexicon were shown."""
    text = str(VALUE.value) if task == "scope_lookup" else json.dumps(STACK.stack)
    found = {outcome(text, task, syntax=syntax, lexicon_set=number) for number in LEXICONS}
    assert {"correct"} == found


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda t: t.replace("5916", "5917"), "valid_syntax_wrong_ast"),
        (lambda t: t.replace("p_abcdefgh", "p_abcdefgi"), "valid_syntax_wrong_ast"),
        (lambda t: t.replace("n_deepests", "n_deepestt"), "valid_syntax_wrong_ast"),
        (lambda t: t.replace("let x_a 5916\nlet x_b 4444", "let x_b 4444\nlet x_a 5916"), "valid_syntax_wrong_ast"),
        (lambda t: t + "let x_c 1111\n", "valid_syntax_wrong_ast"),
        (lambda t: t.replace("end area n_deepests", "end area n_uhbygvtf"), "invalid_generated_syntax"),
        (lambda t: t.replace("end area n_deepests", "end func n_deepests"), "invalid_generated_syntax"),
        (lambda t: t.replace("end area n_deepests", "end"), "invalid_generated_syntax"),
        (lambda t: t.rsplit("end", 1)[0], "invalid_generated_syntax"),
        (lambda t: t + "end unit n_qazwsxed\n", "invalid_generated_syntax"),
        (lambda t: t + "That is the program.\n", "invalid_generated_syntax"),
        (lambda t: "```\n" + t + "```", "invalid_generated_syntax"),
        (lambda _: source("generic_end"), "invalid_generated_syntax"),
        (lambda _: source("named_end", 2), "invalid_generated_syntax"),
        (lambda _: "", "invalid_answer_format"),
    ],
)
def test_generation(change, expected):
    """Any difference of tree, and any slip of syntax, is wrong and told apart."""
    assert expected == outcome(change(source()), "ast_to_source")


@pytest.mark.parametrize(
    ("change", "error_class", "first_error"),
    [
        (lambda t: t.replace("end area n_deepests", "end area n_uhbygvtf"), "close_name", "close_name_mismatch"),
        (lambda t: t.replace("end area n_deepests", "end func n_deepests"), "close_kind", "close_kind_mismatch"),
        (lambda t: t.replace("end area n_deepests", "end"), "close_form", "malformed_close"),
        (lambda t: t.rsplit("end", 1)[0], "eof", "unclosed_scope"),
        (lambda t: t.replace("let x_a 1048\n", "end unit n_qazwsxed\n"), "underflow", "underflow"),
        (lambda t: t + "end unit n_qazwsxed\n", "extra_source", "underflow"),
        (lambda t: t + "That is the program.\n", "extra_source", "unknown_statement"),
        (lambda t: "Here it is:\n" + t, "statement", "unknown_statement"),
        (lambda t: t.replace("8604", "08604"), "statement", "bad_value"),
    ],
)
def test_first_error_of_generated_source(change, error_class, first_error):
    """The class that tables count and the parser's own code, with the place."""
    found = grade(row("ast_to_source"), terminal(change(source())), TREE).diagnosis
    assert (error_class, first_error) == (found["error_class"], found["first_error"])
    assert found["line"] >= 1
    assert found["column"] >= 1


def test_padded_suffix_errors_have_their_class():
    """A wrong fixed suffix in padded_end."""
    text = source("padded_end").replace("z_aaaaaaaa", "z_bbbbbbbb")
    found = grade(row("ast_to_source", "padded_end"), terminal(text), TREE).diagnosis
    assert "close_suffix" == found["error_class"]


def test_first_difference_of_a_wrong_tree():
    """The event where the trees part, by position and kind."""
    found = grade(row("ast_to_source"), terminal(source().replace("1048", "1049")), TREE).diagnosis
    assert {"first_difference": 0, "found": "let", "expected": "let", "event_difference": 0} == found
    longer = grade(row("ast_to_source"), terminal(source() + "let x_c 1111\n"), TREE).diagnosis
    assert ("let", "end", 1) == (longer["found"], longer["expected"], longer["event_difference"])


@pytest.mark.parametrize(
    ("answer", "answered", "matches"),
    [
        (6543, "one_too_few", ["one_too_few", "other_closed"]),
        (8604, "deepest_closed", ["deepest_closed", "other_closed"]),
        (7321, "one_too_many", ["one_too_many", "outer_binding"]),
        (2222, "decoy", ["decoy"]),
        (1048, "outer_binding", ["outer_binding"]),
        (4444, "other_variable", ["other_variable"]),
        (9999, "not_in_program", ["not_in_program"]),
        (-5916, "not_in_program", ["not_in_program"]),
    ],
)
def test_which_binding_was_answered(answer, answered, matches):
    """After two closes: every other binding has its reading."""
    found = grade(row(), terminal(str(answer)), VALUE, CONTEXT).diagnosis
    assert {"answered": answered, "matches": matches} == found


def test_a_single_close_is_both_deepest_and_one_too_few():
    """Both readings are listed, and the first named."""
    program_cut = GradeContext(MINI, AFTER.__class__(15, "q_zxcvbnma", "x_a"))
    found = grade(row(), terminal("8604"), GoldRow("c", value=6543), program_cut).diagnosis
    assert {"answered": "one_too_few", "matches": ["one_too_few", "deepest_closed", "other_closed"]} == found


def test_before_the_closes_nothing_was_closed_too_few():
    """In the before view the siblings are the only closed scopes."""
    found = grade(row(), terminal("6543"), GoldRow("c", value=8604), GradeContext(MINI, BEFORE)).diagnosis
    assert "one_too_many" == found["answered"]


def test_where_only_the_global_scope_is_open_nothing_lies_around_it():
    """After the first event no reading but the other variables' is possible, and none fits."""
    found = grade(
        row(), terminal("8604"), GoldRow("c", value=1048), GradeContext(MINI, CutPoint(1, "q_zxcvbnma", "x_a"))
    )
    assert {"answered": "not_in_program", "matches": ["not_in_program"]} == found.diagnosis


def test_an_answer_of_five_thousand_digits_is_diagnosed_without_a_number():
    """It is in no program."""
    found = grade(row(), terminal("9" * 5000), VALUE, CONTEXT).diagnosis
    assert {"answered": "not_in_program", "matches": ["not_in_program"]} == found


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["n_plmoknij", "n_qazwsxed"], {"length_difference": 0, "misordered": True}),
        (["n_qazwsxed"], {"length_difference": -1, "missing_names": 1, "misordered": False}),
        (["n_qazwsxed", "n_plmoknij", "n_deepests"], {"length_difference": 1, "closed_names": 1, "unknown_names": 0}),
        (["n_qazwsxed", "n_whatever"], {"length_difference": 0, "closed_names": 0, "unknown_names": 1}),
        (["n_qazwsxed", "n_qazwsxed", "n_plmoknij"], {"length_difference": 1, "repeated_names": 1}),
    ],
)
def test_stack_diagnosis(names, expected):
    """Length, order, closed, unknown and repeated names, each counted apart."""
    found = grade(row("active_stack"), terminal(json.dumps(names)), STACK, CONTEXT).diagnosis
    assert expected == {key: found[key] for key in expected}


@pytest.mark.parametrize("half", [GradeContext(MINI), GradeContext(cut=AFTER)], ids=["no cut", "no program"])
def test_half_a_context_diagnoses_what_it_can(half):
    """Without program and cut no binding is named, and no name is called closed or unknown."""
    assert {} == grade(row(), terminal("8604"), VALUE, half).diagnosis
    found = grade(row("active_stack"), terminal('["n_deepests"]'), STACK, half).diagnosis
    assert {"length_difference": -1, "missing_names": 2, "repeated_names": 0, "misordered": False} == found


def test_names_of_misnamed_closing_lines_are_counted_where_there_are_any():
    """In the manipulation check an answer may repeat what a closing line says; elsewhere nothing is said of it."""
    check = GradeContext(MINI, AFTER, frozenset({"n_mistaken", "n_elsewhere"}))
    answer = terminal('["n_mistaken", "n_qazwsxed", "n_mistaken"]')
    assert 1 == grade(row("active_stack"), answer, STACK, check).diagnosis["wrong_names"]
    assert "wrong_names" not in grade(row("active_stack"), answer, STACK, CONTEXT).diagnosis


def test_the_scopes_of_an_empty_prefix():
    """The nameless global scope is open, nothing was closed, and no run of closes ends it."""
    assert Prefix((SeenScope(""),), (), 0) == read_prefix(MINI, CutPoint(0, "q_zxcvbnma", "x_a"))


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ("no_text", "invalid_answer_format"),
        ("refusal", "refusal"),
        ("incomplete", "incomplete_output"),
        ("api_rejected", "api_rejected"),
        ("transport_failure", "transport_failure"),
        ("decode_failure", "decode_failure"),
        ("ambiguous_outcome", "ambiguous_outcome"),
    ],
)
@pytest.mark.parametrize("task", TASKS)
def test_endings_without_an_answer(ending, expected, task):
    """A right text in an incomplete or refused response is no success; infrastructure is missing, not wrong."""
    right = {"scope_lookup": "5916", "active_stack": json.dumps(STACK.stack), "ast_to_source": source()}[task]
    found = grade(row(task), terminal(right, ending), GOLD[task])
    assert expected == found.outcome.value
    assert (0 if found.outcome in MODEL_EVALUABLE else None) == found.strict


def test_lenient_takes_one_fence_or_the_text_of_an_incomplete_answer():
    """The auxiliary score beside a strict 0."""
    fenced = grade(row(), terminal("```text\n5916\n```"), VALUE)
    cut = grade(row(), terminal("5916", "incomplete"), VALUE)
    assert [(0, 1), (0, 1)] == [(s.strict, s.lenient) for s in (fenced, cut)]
    assert 0 == grade(row(), terminal("answer: 5916"), VALUE).lenient
    assert grade(row(), terminal(None, "no_text"), VALUE).lenient is None


def test_a_refusal_that_holds_the_answer_is_lenient_1():
    """Strict 0: what it refused is what it said beside."""
    found = grade(row(), terminal("5916", "refusal"), VALUE)
    assert (0, 1) == (found.strict, found.lenient)


@pytest.mark.parametrize(
    ("ending", "changes", "reason"),
    [
        ("incomplete", {"suspected_truncation": True}, "suspected_truncation"),
        ("incomplete", {"incomplete_reason": "max_output_tokens"}, "max_output_tokens"),
        ("incomplete", {}, "incomplete"),
        ("no_text", {}, "completed without answer text"),
        ("refusal", {}, "refusal"),
        ("transport_failure", {}, "transport_failure"),
    ],
)
def test_reasons_of_endings(ending, changes, reason):
    """A suspected truncation says what the server did not; else its own word, else the ending's."""
    assert reason == grade(row(), terminal("59", ending, **changes), VALUE).reason


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("```\na\n```", "a"),
        ("```json\na\nb\n```\n", "a\nb"),
        ("```\n```", ""),
        ("```\na\n```\nafter", None),
        ("```\na\nb", None),
        ("```\na\n````", None),
        ("before\n```\na\n```", None),
        ("```\na\n```\n```\nb\n```", None),
        ("```two words\na\n```", None),
        ("```a```", None),
        ("```", None),
        ("``````\na\n```", None),
        ("plain", None),
        ("", None),
    ],
)
def test_one_covering_fence(text, inside):
    """Only a fence around the whole answer is taken off."""
    assert (text if inside is None else inside) == without_fence(text)


def test_every_outcome_is_evaluable_or_missing():
    """Seven and five."""
    assert (7, 5, set()) == (len(MODEL_EVALUABLE), len(MISSING), MODEL_EVALUABLE & MISSING)
    assert set(Outcome) == MODEL_EVALUABLE | MISSING


@pytest.mark.parametrize(("task", "gold"), list(zip(TASKS, (STACK, TREE, VALUE), strict=True)))
def test_gold_of_another_task_is_a_defect_of_the_plan(task, gold):
    """Never a wrong answer of the model; the message names the case."""
    with pytest.raises(ValueError, match=r"^gold of case c has no answer for its task; plan the run again$"):
        grade(row(task), terminal("[]"), gold)


HOSTILE = st.one_of(
    st.text(),
    st.text(alphabet='[]{}",0123456789-+.eE \n\t`nx_ab'),
    st.recursive(st.none() | st.text() | st.integers(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)).map(
        json.dumps
    ),
    st.sampled_from([source(s) for s in SYNTAXES]).flatmap(
        lambda t: st.tuples(st.integers(0, len(t)), st.text(max_size=4)).map(lambda p: t[: p[0]] + p[1] + t[p[0] :])
    ),
)


@settings(max_examples=300, deadline=None)
@given(
    HOSTILE, st.sampled_from(TASKS), st.sampled_from(SYNTAXES), st.sampled_from(["answered", "incomplete", "refusal"])
)
def test_no_text_breaks_a_grader(text, task, syntax, ending):
    """Whatever a model says, a JSON-storable score comes back, and strict 1 implies lenient 1."""
    found = grade(row(task, syntax), terminal(text, ending), GOLD[task], CONTEXT)
    json.dumps(dict(found.diagnosis))
    assert found.outcome in MODEL_EVALUABLE
    assert found.lenient == 1 or found.strict != 1
