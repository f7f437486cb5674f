"""What an audit shows without judging: shortcuts, kinds, ranks, names, lengths, counted tokens.

In small cells these numbers scatter, so nothing here fails a plan; the bound on shortcuts is tested on fresh draws.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from bench.data.shortcuts import BLIND_RULES, TRACKING_RULES, Probed, marks_of, rule_hits
from bench.lang.ast import Let
from bench.lang.events import Close, Open
from bench.lang.reference_oracle import observe
from bench.lang.walk import events_of
from bench.plan.run_files import TOKEN_COUNTS_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.audit.findings import Findings
    from bench.data.family import Family
    from bench.lang.ast import CutPoint
    from bench.plan.plan_files import Plan

PERMUTATIONS = 199


@dataclass(frozen=True, slots=True)
class ShortcutAccuracy:
    """How often one rule of thumb is right: ``accuracy`` (0 to 1) of the ``cases`` in one view, depth and lookup kind.

    ``tracks`` marks the rules that nearly track scopes.
    """

    rule: str
    where: str
    accuracy: float
    cases: int
    tracks: bool


class FamilyStatistics:
    """Gathers, family by family, what the reported rows are made from."""

    def __init__(self) -> None:
        self._probes: list[Probed] = []
        self._kinds: Counter[str] = Counter()
        self._variables: Counter[str] = Counter()
        self._gold_ranks: Counter[str] = Counter()
        self._let_counts: Counter[str] = Counter()
        self._shadow_depths: Counter[str] = Counter()
        self._sibling_places: Counter[str] = Counter()
        self._name_ranks: list[list[int]] = []

    def look(self, family: Family) -> None:
        """Take one family in."""
        if family.group == "reading":
            self._try_shortcuts(family)
        events = events_of(family.program)
        self._kinds.update(event.kind.value for event in events if isinstance(event, Open))
        self._variables[family.variable] += 1
        self._look_at_lets(family)
        self._sibling_places.update(f"scope {place} of {family.depth}" for place in family.siblings)
        self._name_ranks.append(_ranks([event.name for event in events if isinstance(event, Open)]))

    def _try_shortcuts(self, family: Family) -> None:
        for view, cut in (("before_close", family.before_cut), ("after_close", family.after_cut)):
            group = (view, f"depth {family.depth}", family.lookup_kind)
            answer = observe(family.program, cut).value
            self._probes.append(Probed(group, marks_of(family.program, cut), answer))

    def _look_at_lets(self, family: Family) -> None:
        lets = [value for mark, value in marks_of(family.program, family.after_cut) if mark == "v"]
        answer = observe(family.program, family.after_cut).value
        self._gold_ranks[f"{lets.index(answer) + 1} of {len(lets)}"] += 1
        self._let_counts[str(len(lets))] += 1
        self._shadow_depths[str(_open_bindings(family, family.before_cut))] += 1

    def shortcuts(self) -> list[ShortcutAccuracy]:
        """Every rule's accuracy on the families of the reading tasks."""
        return shortcut_table(self._probes)

    def report(self, findings: Findings) -> None:
        """One row for each statistic."""
        _report_best(self.shortcuts(), findings)
        families = len(self._name_ranks)
        for name, counter in (
            ("most frequent kind of block", self._kinds),
            ("most frequent probed variable", self._variables),
            ("most frequent rank of gold among the lets of v", self._gold_ranks),
            ("most frequent number of lets of v", self._let_counts),
            ("most frequent number of open bindings before the closes", self._shadow_depths),
            ("most frequent place of a sibling", self._sibling_places),
        ):
            share = 100 * max(counter.values(), default=0) / max(1, counter.total())
            findings.report(name, share, "percent", examined=families, detail=dict(sorted(counter.items())))
        p = order_p_value(self._name_ranks)
        findings.report(
            "block names against their order of opening, permutation p", p, "p", examined=families, detail={}
        )


def _ranks(names: Sequence[str]) -> list[int]:
    order = {name: rank for rank, name in enumerate(sorted(names))}
    return [order[name] for name in names]


def _open_bindings(family: Family, cut: CutPoint) -> int:
    """How many open scopes bind the probed variable at ``cut``."""
    bound = [0]
    for event in events_of(family.program)[: cut.event_count]:
        if isinstance(event, Open):
            bound.append(0)
        elif isinstance(event, Close):
            bound.pop()
        elif isinstance(event, Let) and event.variable == family.variable:
            bound[-1] = 1
    return sum(bound)


def order_p_value(ranks: Sequence[list[int]], permutations: int = PERMUTATIONS) -> float:
    """The two-sided permutation p of the rank-order product sum, from a fixed seed; (k+1)/(n+1)."""
    dice = random.Random(0)  # noqa: S311  # a reproducible permutation test
    centre = sum((len(family) - 1) ** 2 * len(family) / 4 for family in ranks)
    observed = abs(_product_sum(ranks) - centre)
    shuffled = [list(family) for family in ranks]
    extreme = 0
    for _ in range(permutations):
        for family in shuffled:
            dice.shuffle(family)
        extreme += abs(_product_sum(shuffled) - centre) >= observed
    return (extreme + 1) / (permutations + 1)


def _product_sum(ranks: Iterable[list[int]]) -> int:
    return sum(place * rank for family in ranks for place, rank in enumerate(family))


def shortcut_table(probes: Sequence[Probed]) -> list[ShortcutAccuracy]:
    """How often each rule is right, for each view, depth and lookup kind."""
    return [
        ShortcutAccuracy(
            name, ", ".join(place), round(hits[name] / hits[""], 4), hits[""], tracks=name in TRACKING_RULES
        )
        for place, hits in sorted(rule_hits(probes).items())
        for name in (*BLIND_RULES, *TRACKING_RULES)
    ]


def _report_best(table: Sequence[ShortcutAccuracy], findings: Findings) -> None:
    """For each view, depth and lookup kind the best of the rules that do not track scopes."""
    for where, entries in groupby(table, key=lambda entry: entry.where):
        blind = [entry for entry in entries if not entry.tracks]
        best = max(entry.accuracy for entry in blind)
        named = [entry.rule for entry in blind if entry.accuracy == best]
        findings.report(
            f"best shortcut, {where}", 100 * best, "percent", examined=blind[0].cases, detail={"rules": named}
        )


def report_sizes(plan: Plan, findings: Findings) -> None:
    """Lines, characters and bytes of a prompt per task, notation and kind of words; counted tokens if there are."""
    sizes: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for case_id in plan.case_ids():
        case = plan.case(case_id)
        for syntax, measured in plan.measures(case_id).items():
            counter = sizes[case.task, syntax, case.lexical]
            counter["prompts"] += 1
            for part in measured["sizes"].values():
                counter.update(part)
    for (task, syntax, lexical), counter in sorted(sizes.items()):
        prompts = counter.pop("prompts")
        means = {unit: round(total / prompts, 2) for unit, total in counter.items()}
        name = f"mean length of a prompt, {task}, {syntax}, {lexical}"
        findings.report(name, means["characters"], "characters", examined=prompts, detail=means)
    _report_tokens(plan, findings)


def _report_tokens(plan: Plan, findings: Findings) -> None:
    """Counted input tokens; where padded_end has fewer than named_end, it under-pads and D-E still contains length."""
    counts = _counted_tokens(plan)
    sums: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in plan.schedule:
        if row.request_sha256 in counts:
            sums[row.task, row.lexical][row.syntax].append(counts[row.request_sha256])
    for (task, lexical), by_syntax in sorted(sums.items()):
        means = {syntax: round(sum(tokens) / len(tokens), 2) for syntax, tokens in by_syntax.items()}
        under = "named_end" in means and "padded_end" in means and means["padded_end"] < means["named_end"]
        detail: dict[str, Any] = {"mean_tokens": means, "padded_end_under_pads": under}
        gap = means.get("padded_end", 0) - means.get("named_end", 0)
        examined = sum(len(tokens) for tokens in by_syntax.values())
        findings.report(
            f"counted tokens, padded_end - named_end, {task}, {lexical}",
            gap,
            "tokens",
            examined=examined,
            detail=detail,
        )


def _counted_tokens(plan: Plan) -> dict[str, int]:
    """Input tokens by request hash, as far as they were counted."""
    path = plan.run_dir / TOKEN_COUNTS_FILE
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        rows = [json.loads(line) for line in file if line.endswith(b"\n")]
    return {row["request_sha256"]: row["input_tokens"] for row in rows}
