"""Builds the trials of a block as they will be sent, and what the block sets aside for them. Sends nothing."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from bench.llm.body import body_bytes, count_body, generation_body
from bench.prompt.build import build_request
from bench.run.judgement import COUNT_MARGIN
from bench.run.ledger_records import Share
from bench.run.trial_types import Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bench.llm.model import LlmRequest
    from bench.plan.plan_files import Plan
    from bench.plan.records import ScheduleRow


class PromptChangedError(Exception):
    """The prompt that this code builds is not the one that was planned: another version, or an edited plan."""


def block_trials(
    plan: Plan, rows: Sequence[ScheduleRow], counts: Mapping[str, int], *, soft_budget: bool
) -> list[Trial]:
    """The trials of one block in schedule order, each with the shares of all of them.

    Raises:
        PromptChangedError: a request hashes to something else than its row says.
    """
    built = [(row, *planned_body(plan, row)) for row in rows]
    known = [counts.get(row.request_sha256) for row in rows]
    shares = tuple(
        _share(row.trial_id, request, size=len(body), counted=counted, soft_budget=soft_budget)
        for (row, request, body), counted in zip(built, known, strict=True)
    )
    return [
        Trial(row, request, body, body_bytes(count_body(request)) if counted is None else b"", counted, shares)
        for (row, request, body), counted in zip(built, known, strict=True)
    ]


def planned_body(plan: Plan, row: ScheduleRow) -> tuple[LlmRequest, bytes]:
    """A trial's request and its exact bytes, checked against the plan.

    Raises:
        PromptChangedError: the bytes are not those that were planned.
    """
    request = build_request(plan, row)
    body = body_bytes(generation_body(request))
    if hashlib.sha256(body).hexdigest() != row.request_sha256:
        raise PromptChangedError(
            f"trial {row.trial_id[:12]}: prompt differs from the planned one; use the version it was planned with"
        )
    return request, body


def requests_of(plan: Plan) -> Callable[[str], LlmRequest]:
    """The request of a trial id, built again when asked for; `PromptChangedError` for an id that was not planned."""
    rows = {row.trial_id: row for row in plan.schedule}

    def request_of(trial_id: str) -> LlmRequest:
        if trial_id not in rows:
            raise PromptChangedError(
                f"trial {trial_id[:12]} was sent but is not in the plan; restore the run directory"
            )
        return build_request(plan, rows[trial_id])

    return request_of


def worst_case_tokens(request: LlmRequest, *, size: int, counted: int | None) -> int:
    """What a generation reserves at most: input (counted, else bytes) + maximal output + margin."""
    return (size if counted is None else counted) + request.max_output_tokens + COUNT_MARGIN


def _share(trial_id: str, request: LlmRequest, *, size: int, counted: int | None, soft_budget: bool) -> Share:
    attempts = 1 if counted is not None or soft_budget else 2
    return Share(trial_id, 1, attempts, worst_case_tokens(request, size=size, counted=counted))
