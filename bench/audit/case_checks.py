"""Checks on one case at a time: answers, equality of notations, leaks, terminators.

Every check is a function of the evidence; it names itself and, where it fails, the case.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from bench.audit.prompt_text import parsed_example
from bench.data.aliases import aliases_of
from bench.data.terms import ALL_SYNTAXES, CHECK_SYNTAX, TASKS
from bench.lang.ast import Let, Nop, Program
from bench.lang.errors import OracleError
from bench.lang.event_oracle import observe_parsed
from bench.lang.events import Close, Open, ParsedPrefix
from bench.lang.reference_oracle import observe
from bench.lang.tree import program_from_json
from bench.lang.walk import events_of

if TYPE_CHECKING:
    from bench.audit.evidence import CaseEvidence, PromptEvidence
    from bench.audit.findings import Findings
    from bench.data.terms import Syntax, Task
    from bench.lang.ast import Observation
    from bench.lang.events import Event

_VALUE = re.compile(r"\b[0-9]{4}\b")
_FORBIDDEN = re.compile(
    r"[<>]|\.\.\.|\b(?:"
    + "|".join((*ALL_SYNTAXES, *TASKS, "before_close", "after_close", "gold", "condition"))
    + r")\b"
)
_BLOCK_NAME = re.compile(r"\bn_[a-z]{8}\b")
_EQUALLY_LONG: tuple[Syntax, ...] = ("named_end", "padded_end", CHECK_SYNTAX)
_NOTATION_LINES = ("Opening line of a block: ", "Closing line of the innermost open block: ")


def oracles_agree(evidence: CaseEvidence, findings: Findings) -> None:
    """Tree oracle, event oracle on each notation's text, and gold give one answer."""
    case, gold = evidence.case, evidence.gold
    findings.must("every case has an answer", gold is not None, evidence.name)
    if gold is None:
        return
    for syntax, prompt in evidence.prompts.items():
        if isinstance(prompt.test, ParsedPrefix):
            found = _observed(prompt.test)
            by_tree = observe(evidence.family.program, case.cut) if case.cut is not None else None
            answered = gold.value if case.task == "scope_lookup" else gold.stack
            seen = found and (found.value if case.task == "scope_lookup" else list(found.active_scopes))
            holds = found is not None and found == by_tree and seen == answered
        else:
            holds = prompt.test == evidence.family.program and _is_program(gold.ast, prompt.test)
        findings.must("oracles agree with each other and with gold", holds, f"{evidence.name} {syntax}")


def _observed(prefix: ParsedPrefix) -> Observation | None:
    try:
        return observe_parsed(prefix)
    except OracleError:
        return None


def _is_program(ast: object, program: Program) -> bool:
    try:
        return program_from_json(ast) == program
    except ValueError:
        return False


def prefix_is_the_cut(evidence: CaseEvidence, findings: Findings) -> None:
    """What is shown is exactly the events before the cut and the probe: no later code."""
    cut = evidence.case.cut
    if cut is None:
        return
    shown = events_of(evidence.family.program)[: cut.event_count]
    for syntax, prompt in evidence.prompts.items():
        test = prompt.test
        holds = isinstance(test, ParsedPrefix) and test.events == shown
        holds = holds and isinstance(test, ParsedPrefix) and test.probe.probe_id == cut.probe_id
        holds = holds and isinstance(test, ParsedPrefix) and test.probe.variable == cut.variable
        findings.must("a prefix ends at its probe, no later code", holds, f"{evidence.name} {syntax}")


def notations_differ_only_in_notation(evidence: CaseEvidence, findings: Findings) -> None:
    """Test and examples of every notation read the same; every line outside programs and terminators is the same."""
    prompts = list(evidence.prompts.values())
    first = prompts[0]
    for prompt in prompts:
        offender = f"{evidence.name} {prompt.row.syntax}"
        same = prompt.test == first.test and prompt.examples == first.examples
        findings.must("notations show equal programs, tests and examples", same, offender)
        findings.must("notations share every other line", _other_lines(prompt) == _other_lines(first), offender)
        findings.must(
            "notations have one output limit",
            prompt.request.max_output_tokens == first.request.max_output_tokens
            and prompt.request.reasoning_effort == first.request.reasoning_effort
            and prompt.request.model == first.request.model,
            offender,
        )


def _other_lines(prompt: PromptEvidence) -> tuple[object, ...]:
    """All text that must not depend on the notation; the lines that describe opening and closing are left out."""
    syntax = list(prompt.text.syntax)
    closing = next((number for number, line in enumerate(syntax) if line.startswith(_NOTATION_LINES[1])), None)
    note = {closing + 1} if closing is not None else set()
    kept = [line for number, line in enumerate(syntax) if number not in note and not line.startswith(_NOTATION_LINES)]
    shown = [
        (source if prompt.row.task == "ast_to_source" else None, answer if prompt.row.task != "ast_to_source" else None)
        for source, answer in prompt.text.examples
    ]
    table = prompt.text.test if prompt.row.task == "ast_to_source" else None
    return (prompt.text.instructions, kept, shown, table)


def same_integers(evidence: CaseEvidence, findings: Findings) -> None:
    """The integers of the test are those of the family's program, in every notation."""
    cut = evidence.case.cut
    events = events_of(evidence.family.program)
    expected = Counter(
        str(e.value) for e in (events if cut is None else events[: cut.event_count]) if isinstance(e, Let)
    )
    for syntax, prompt in evidence.prompts.items():
        shown = Counter(_VALUE.findall(prompt.text.test))
        findings.must("same integers in all notations and words", shown == expected, f"{evidence.name} {syntax}")


def gold_stands_once(evidence: CaseEvidence, findings: Findings) -> None:
    """T1: the answer's integer occurs in the test only in its own let, and without that let the answer is another."""
    gold = evidence.gold
    if evidence.case.task != "scope_lookup" or gold is None or gold.value is None:
        return
    for syntax, prompt in evidence.prompts.items():
        lines = [line.lstrip(" ") for line in prompt.text.test.split("\n") if str(gold.value) in line]
        own = f"{prompt.spec.lexicon.let} {evidence.family.variable} {gold.value}"
        test = prompt.test
        holds = lines == [own] and isinstance(test, ParsedPrefix) and _hangs_on(test, gold.value)
        findings.must("gold stands only in its own let, and hangs on it", holds, f"{evidence.name} {syntax}")


def _hangs_on(prefix: ParsedPrefix, value: int) -> bool:
    """Whether the answer changes if the let of ``value`` is deleted."""
    kept = tuple(event for event in prefix.events if not (isinstance(event, Let) and event.value == value))
    seen = _observed(ParsedPrefix(kept, prefix.probe))
    return seen is None or seen.value != value


def nothing_leaks(evidence: CaseEvidence, findings: Findings) -> None:
    """No placeholder, label of a condition or id of the plan reaches a prompt."""
    for syntax, prompt in evidence.prompts.items():
        offender = f"{evidence.name} {syntax}"
        sent = prompt.request.instructions + "\n" + prompt.request.input[0].content
        found = _FORBIDDEN.search(sent)
        ids = (evidence.case.case_id, evidence.family.family_id)
        findings.must("no label, placeholder or id in a prompt", not (found or any(i in sent for i in ids)), offender)
        findings.must("one user message", [m.role for m in prompt.request.input] == ["user"], offender)


def examples_are_right(evidence: CaseEvidence, findings: Findings) -> None:
    """As many examples as planned, each answered as the event oracle sees it, or for T3 with the table's program."""
    for syntax, prompt in evidence.prompts.items():
        words = (syntax, evidence.case.lexicon_set)
        right = [_is_right(source, answer, evidence.case.task, words) for source, answer in prompt.text.examples]
        findings.must(
            "planned number of examples, with right answers",
            right == [True] * evidence.style.shots,
            f"{evidence.name} {syntax}",
        )


@lru_cache(maxsize=16384)
def _is_right(source: str, answer: str, task: Task, words: tuple[Syntax, int | None]) -> bool:
    """Whether an example is answered rightly; many prompts show the same one."""
    asked, answered = parsed_example(source, answer, task, words)
    if not isinstance(asked, ParsedPrefix):
        return asked == answered
    seen = _observed(asked)
    if seen is None:
        return False
    return answered == (json.dumps(list(seen.active_scopes)) if task == "active_stack" else str(seen.value))


def examples_are_strangers(evidence: CaseEvidence, findings: Findings) -> None:
    """No block, nop or probe name of the test occurs in an example."""
    prompt = next(iter(evidence.prompts.values()))
    known = {name for asked, _ in prompt.examples for name in _names(_events(asked))}
    known |= {asked.probe.probe_id for asked, _ in prompt.examples if isinstance(asked, ParsedPrefix)}
    own = set(_names(events_of(evidence.family.program))) | {evidence.family.after_cut.probe_id}
    findings.must("examples share no name with tests", not own & known, evidence.name)


def _events(asked: object) -> tuple[Event, ...]:
    if isinstance(asked, ParsedPrefix):
        return asked.events
    return events_of(asked) if isinstance(asked, Program) else ()


def _names(events: tuple[Event, ...]) -> list[str]:
    return [e.name if isinstance(e, Open) else e.payload for e in events if isinstance(e, Open | Nop)]


def requests_are_planned(evidence: CaseEvidence, findings: Findings) -> None:
    """Each request has the hash that the schedule holds."""
    for syntax, prompt in evidence.prompts.items():
        holds = prompt.sha256 == prompt.row.request_sha256
        findings.must("requests are those of the schedule", holds, f"{evidence.name} {syntax}")


def terminators_are_equally_long(evidence: CaseEvidence, findings: Findings) -> None:
    """Every closing line of padded_end, and of misnamed_end, has as many characters as that of named_end."""
    lengths = {
        syntax: [len(line) for line in _program_text(evidence.prompts[syntax]).split("\n")]
        for syntax in _EQUALLY_LONG
        if syntax in evidence.prompts
    }
    for syntax in _EQUALLY_LONG[1:]:
        if {"named_end", syntax} <= lengths.keys():
            holds = lengths["named_end"] == lengths[syntax]
            findings.must(f"terminators of named_end and {syntax} are equally long", holds, evidence.name)


def wrong_names_are_wrong(evidence: CaseEvidence, findings: Findings) -> None:
    """Manipulation check: every closing line bears a name that no block of the prompt has and no other line bears."""
    prompt = evidence.prompts.get(CHECK_SYNTAX)
    if prompt is None:
        return
    kept = evidence.case.aliases == aliases_of(evidence.family)
    findings.must("wrong names are those of the family", kept, evidence.name)
    for source in (*(source for source, _ in prompt.text.examples), prompt.text.test):
        found = Counter(_BLOCK_NAME.findall(source))
        end = prompt.spec.lexicon.end
        closing = [line.split()[-1] for line in source.split("\n") if line.split()[:1] == [end]]
        fresh = all(found[name] == 1 and prompt.request.input[0].content.count(name) == 1 for name in closing)
        findings.must("wrong names stand once in a prompt, each in one closing line", fresh, evidence.name)


def style_is_as_planned(evidence: CaseEvidence, findings: Findings) -> None:
    """Every level of every shown program is indented as the preset says, and its blocks are of the one planned kind."""
    for syntax, prompt in evidence.prompts.items():
        sources = [prompt.text.test, *(source for source, _ in prompt.text.examples)]
        shown = list(zip((prompt.test, *(asked for asked, _ in prompt.examples)), sources, strict=True))
        offender = f"{evidence.name} {syntax}"
        prefixes = [(asked, source) for asked, source in shown if isinstance(asked, ParsedPrefix)]
        indented = all(_indents(source) == _levels(asked, evidence.style.indent) for asked, source in prefixes)
        findings.must("levels are indented as planned", indented, offender)
        if (kind := evidence.style.kind) is not None:
            one = all(e.kind == kind for asked, _ in shown for e in _events(asked) if isinstance(e, Open))
            findings.must("blocks are of the planned kind", one, offender)


def _indents(source: str) -> list[int]:
    return [len(line) - len(line.lstrip(" ")) for line in source.splitlines()]


def _levels(prefix: ParsedPrefix, indent: int) -> list[int]:
    """The spaces before each line of a prefix, its probe last."""
    level, spaces = 0, []
    for event in prefix.events:
        level -= isinstance(event, Close)
        spaces.append(indent * level)
        level += isinstance(event, Open)
    return [*spaces, indent * level]


def _program_text(prompt: PromptEvidence) -> str:
    """The programs of a prompt: sources of the reading tasks, answers of the writing task."""
    if prompt.row.task == "ast_to_source":
        return "\n".join(answer for _, answer in prompt.text.examples)
    return "\n".join((*(source for source, _ in prompt.text.examples), prompt.text.test))


CASE_CHECKS = (
    oracles_agree,
    prefix_is_the_cut,
    notations_differ_only_in_notation,
    same_integers,
    gold_stands_once,
    nothing_leaks,
    examples_are_right,
    examples_are_strangers,
    requests_are_planned,
    terminators_are_equally_long,
    wrong_names_are_wrong,
    style_is_as_planned,
)
