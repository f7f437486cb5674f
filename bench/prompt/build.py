"""From a planned trial to the request that is sent: deterministic, without gold, cheap enough for a sending worker.

A plan is anything that can show a case, a family and the model settings; the real one is `bench.plan.plan_files.Plan`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bench.data.terms import WRITING_TASK
from bench.llm.body import body_bytes, generation_body
from bench.llm.model import LlmRequest, TextMessage
from bench.prompt.episode import PromptParts, prompt_parts
from bench.wire.hashing import sha256_hex

if TYPE_CHECKING:
    from bench.data.expand import Case
    from bench.data.family import Family
    from bench.data.terms import Syntax, Task
    from bench.prompt.style import PromptStyle


class Model(Protocol):
    """What is sent besides the prompt."""

    @property
    def model(self) -> str:
        """The model name."""
        ...

    @property
    def reasoning_effort(self) -> str | None:
        """The effort, or None."""
        ...

    @property
    def max_output_tokens_reading(self) -> int:
        """Output limit of the reading tasks."""
        ...

    @property
    def max_output_tokens_generation(self) -> int:
        """Output limit of the writing task."""
        ...

    @property
    def temperature(self) -> float | None:
        """The temperature, or None."""
        ...

    @property
    def top_p(self) -> float | None:
        """The nucleus, or None."""
        ...


class PlanView(Protocol):
    """Where the cases, families and settings of a run are looked up."""

    @property
    def model(self) -> Model:
        """The model settings of the run."""
        ...

    @property
    def prompt_style(self) -> PromptStyle:
        """What all prompts of the run have in common beside the template."""
        ...

    def case(self, case_id: str) -> Case:
        """The case of that id."""
        ...

    def family(self, family_id: str) -> Family:
        """The family of that id."""
        ...


class TrialRow(Protocol):
    """The part of a schedule row that decides the request."""

    @property
    def case_id(self) -> str:
        """The case that is asked."""
        ...

    @property
    def syntax(self) -> Syntax:
        """The notation it is asked in."""
        ...


def build_request(plan: PlanView, row: TrialRow) -> LlmRequest:
    """The request of one trial. It depends on case, notation and model settings, never on replicate or position."""
    case = plan.case(row.case_id)
    parts = prompt_parts(case, plan.family(case.family_id), row.syntax, plan.prompt_style)
    return request_of(parts, case.task, plan.model)


def request_of(parts: PromptParts, task: Task, model: Model) -> LlmRequest:
    """The request that carries a prompt; the output limit depends on the task alone, equal for all notations."""
    return LlmRequest(
        model=model.model,
        instructions=parts.instructions,
        input=(TextMessage("user", parts.message),),
        max_output_tokens=output_limit(task, model),
        reasoning_effort=model.reasoning_effort,
        temperature=model.temperature,
        top_p=model.top_p,
    )


def output_limit(task: Task, model: Model) -> int:
    """Output tokens allowed for ``task``, reasoning included."""
    return model.max_output_tokens_generation if task == WRITING_TASK else model.max_output_tokens_reading


def request_bytes(request: LlmRequest) -> bytes:
    """The exact bytes that are sent."""
    return body_bytes(generation_body(request))


def request_sha256(request: LlmRequest) -> str:
    """The SHA-256 of the exact bytes that are sent."""
    return sha256_hex(request_bytes(request))
