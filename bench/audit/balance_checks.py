"""Checks on the plan as a whole: sets, lookup kinds, positions of notations, ids, natural and nonce words."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from bench.data.expand import SETS
from bench.lang.lexicon import NATURAL, lexicon_for
from bench.plan.planner import trial_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench.audit.evidence import CaseEvidence
    from bench.audit.findings import Findings
    from bench.data.terms import Syntax
    from bench.plan.plan_files import Plan
    from bench.plan.records import ScheduleRow

Cell = tuple[str, int, int]


def check_balance(plan: Plan, findings: Findings) -> None:
    """Everything that is counted over the schedule."""
    hand_made = plan.typed_protocol.config.get("hand_made") is not None
    _check_counts(plan, findings)
    _check_blocks(plan.schedule, plan.typed_protocol.config["syntaxes"], findings)
    _check_positions(plan.schedule, findings)
    _check_sets(plan.schedule, findings, hand_made=hand_made)
    _check_kinds(plan.schedule, findings, hand_made=hand_made)
    _check_ids(plan, findings)


def _check_counts(plan: Plan, findings: Findings) -> None:
    counts = plan.typed_protocol.counts
    found = (len(plan.family_ids()), len(plan.case_ids()), len(plan.schedule))
    holds = found == (counts.families, counts.cases, counts.trials)
    findings.must("families, cases and trials are as many as planned", holds, f"{found[2]} trials")


def _check_blocks(schedule: Sequence[ScheduleRow], syntaxes: Sequence[str], findings: Findings) -> None:
    """Each block stands together and holds every notation of one case and replicate once."""
    size = len(syntaxes)
    for start in range(0, len(schedule), size):
        rows = schedule[start : start + size]
        holds = (
            len({(row.block, row.case_id, row.replicate) for row in rows}) == 1
            and sorted(row.syntax for row in rows) == sorted(syntaxes)
            and [row.position for row in rows] == list(range(start, start + size))
        )
        findings.must("blocks are whole and stand together", holds, f"{rows[0].case_id} at position {start}")


def _check_positions(schedule: Sequence[ScheduleRow], findings: Findings) -> None:
    """Within a task and cell every notation stands in every place of a block equally often (difference at most 1)."""
    places: dict[tuple[str, int, int], Counter[tuple[str, int]]] = defaultdict(Counter)
    place, block = 0, -1
    for row in schedule:
        place = place + 1 if row.block == block else 0
        block = row.block
        places[row.task, row.depth, row.filler][row.syntax, place] += 1
    syntaxes = {row.syntax for row in schedule}
    for cell, counter in places.items():
        counts = [counter[syntax, number] for syntax in syntaxes for number in range(len(syntaxes))]
        findings.must("notations are balanced over the places of a block", _even(counts), _named(cell))


def _check_sets(schedule: Sequence[ScheduleRow], findings: Findings, *, hand_made: bool) -> None:
    """Within a task and cell every nonce lexicon and every example set serves equally many families."""
    lexicons: dict[Cell, dict[str, int]] = defaultdict(dict)
    examples: dict[Cell, dict[str, int]] = defaultdict(dict)
    for row in schedule:
        cell = _cell(row, hand_made=hand_made)
        examples[cell].setdefault(row.family_id, row.example_set)
        findings.must(
            "a family keeps its sets", examples[cell][row.family_id] == row.example_set, f"{row.case_id} {row.syntax}"
        )
        if row.lexicon_set is not None:
            lexicons[cell].setdefault(row.family_id, row.lexicon_set)
            findings.must(
                "a family keeps its sets",
                lexicons[cell][row.family_id] == row.lexicon_set,
                f"{row.case_id} {row.syntax}",
            )
    for name, cells in (("nonce lexicons are balanced", lexicons), ("example sets are balanced", examples)):
        for cell, chosen in cells.items():
            counter = Counter(chosen.values())
            findings.must(name, _even([counter[number] for number in range(SETS)]), _named(cell))


def _check_kinds(schedule: Sequence[ScheduleRow], findings: Findings, *, hand_made: bool) -> None:
    kinds: dict[Cell, dict[str, str]] = defaultdict(dict)
    for row in schedule:
        cell = _cell(row, hand_made=hand_made)
        kinds[cell][row.family_id] = row.lookup_kind
    for cell, chosen in kinds.items():
        counter = Counter(chosen.values())
        findings.must("lookup kinds are balanced", _even([counter["inner"], counter["outer"]]), _named(cell))


def _check_ids(plan: Plan, findings: Findings) -> None:
    seen: set[str] = set()
    for row in plan.schedule:
        expected = trial_id(
            plan.case(row.case_id),
            row.syntax,
            row.replicate,
            protocol_hash=plan.protocol_hash,
            request_sha256=row.request_sha256,
        )
        findings.must("trial ids are unique and hash what they name", row.trial_id == expected, row.case_id)
        findings.must("trial ids are unique and hash what they name", row.trial_id not in seen, row.case_id)
        seen.add(row.trial_id)


def _cell(row: ScheduleRow, *, hand_made: bool) -> Cell:
    """The cell in which a row is balanced; hand-made cases are one cell for each task."""
    return (row.task, 0, 0) if hand_made else (row.task, row.depth, row.filler)


def _even(counts: Iterable[int]) -> bool:
    values = list(counts)
    return max(values) - min(values) <= 1


def _named(cell: Cell) -> str:
    return f"{cell[0]} depth {cell[1]} filler {cell[2]}"


class WordPairs:
    """Compares the natural and the nonce case of one family, task and view as they come by."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str, str], tuple[int | None, Mapping[Syntax, str]]] = {}

    def look(self, evidence: CaseEvidence, findings: Findings) -> None:
        """Renaming the natural words of sources and answers gives the bytes of the nonce case."""
        case = evidence.case
        texts = {
            syntax: _sources(prompt.text.examples, prompt.text.test) for syntax, prompt in evidence.prompts.items()
        }
        other = self._waiting.pop((case.family_id, case.task, case.view), None)
        if other is None:
            self._waiting[case.family_id, case.task, case.view] = (case.lexicon_set, texts)
            return
        natural, nonce = (texts, other[1]) if case.lexicon_set is None else (other[1], texts)
        number = case.lexicon_set if case.lexicon_set is not None else other[0]
        for syntax, text in natural.items():
            renamed = _renamed(text, number, table=case.task == "ast_to_source")
            findings.must(
                "renaming natural words gives the nonce bytes", renamed == nonce[syntax], f"{evidence.name} {syntax}"
            )


def _sources(examples: Sequence[tuple[str, str]], test: str) -> str:
    return "\n".join((*(f"{source}\n{answer}" for source, answer in examples), test))


def _renamed(text: str, lexicon_set: int | None, *, table: bool) -> str:
    """``text`` with every natural word that stands as a word of a statement replaced; tables are neutral."""
    words = dict(zip(NATURAL.words, lexicon_for(lexicon_set).words, strict=True))
    lines = []
    for line in text.split("\n"):
        is_row = table and "  " in line.lstrip(" ")
        lines.append(line if is_row else " ".join(words.get(word, word) for word in line.split(" ")))
    return "\n".join(lines)
