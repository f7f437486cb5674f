"""All that is known of one case, gathered from the requests as they would be sent: nothing is judged here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.audit.prompt_text import LayoutError, PromptText, parsed_example, read_prefix, read_table, split_prompt
from bench.prompt.build import request_sha256
from bench.prompt.episode import render_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.data.expand import Case
    from bench.data.family import Family
    from bench.data.gold_row import GoldRow
    from bench.data.terms import Syntax
    from bench.lang.ast import Program
    from bench.lang.events import ParsedPrefix
    from bench.lang.syntax import RenderSpec
    from bench.llm.model import LlmRequest
    from bench.plan.plan_files import Plan
    from bench.plan.records import ScheduleRow
    from bench.prompt.style import PromptStyle


@dataclass(frozen=True, slots=True)
class PromptEvidence:
    """One notation's request and what it reads as."""

    row: ScheduleRow
    request: LlmRequest
    sha256: str
    text: PromptText
    test: ParsedPrefix | Program
    examples: tuple[tuple[object, object], ...]
    spec: RenderSpec


@dataclass(frozen=True, slots=True)
class CaseEvidence:
    """One case in all its notations, with the answer it will be judged by."""

    case: Case
    family: Family
    gold: GoldRow | None
    prompts: Mapping[Syntax, PromptEvidence]
    style: PromptStyle

    @property
    def name(self) -> str:
        """The case's id, as an offender is named."""
        return self.case.case_id


def gather(
    plan: Plan, rows: list[ScheduleRow], gold: Mapping[str, GoldRow], build: Callable[[Plan, ScheduleRow], LlmRequest]
) -> CaseEvidence:
    """The evidence of one case from its rows, one for each notation.

    Raises:
        LayoutError: naming the trial whose prompt cannot be taken apart or parsed.
    """
    case = plan.case(rows[0].case_id)
    prompts = {row.syntax: _prompt(plan, row, case, build) for row in rows}
    return CaseEvidence(case, plan.family(case.family_id), gold.get(case.case_id), prompts, plan.prompt_style)


def _prompt(
    plan: Plan, row: ScheduleRow, case: Case, build: Callable[[Plan, ScheduleRow], LlmRequest]
) -> PromptEvidence:
    spec = render_spec(row.syntax, row.lexicon_set, style=plan.prompt_style, aliases=case.aliases)
    request = build(plan, row)
    try:
        text = split_prompt(request.instructions, request.input[0].content, row.task)
        test = read_table(text.test) if case.cut is None else read_prefix(text.test, spec)
        examples = tuple(
            parsed_example(source, answer, row.task, (row.syntax, row.lexicon_set)) for source, answer in text.examples
        )
    except LayoutError as error:
        raise LayoutError(f"{row.case_id} {row.syntax}: {error}") from None
    return PromptEvidence(row, request, request_sha256(request), text, test, examples, spec)
