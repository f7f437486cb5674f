"""The prompts as an Inspect AI task. Run by Inspect itself: ``inspect eval inspect_task.py -T prompts=FILE``."""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import exact
from inspect_ai.solver import generate

ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


def record_to_sample(record: dict[str, Any]) -> Sample:
    """One prompt as a sample; the instructions are its system message."""
    request = record["request"]
    messages = [{"role": "system", "content": request["instructions"]}, *request["input"]]
    return Sample(
        id=record["id"],
        input=[ROLES[message["role"]](content=message["content"]) for message in messages],
        target=record["target"],
    )


@task
def reading(prompts: str) -> Task:
    """Every prompt of the file, answered once and compared with its target."""
    return Task(
        dataset=json_dataset(prompts, record_to_sample),
        solver=generate(),
        scorer=exact(),
        # "none": otherwise a first request of its own finds out whether summaries may be asked for
        config=GenerateConfig(max_tokens=8192, reasoning_effort="low", reasoning_summary="none"),
    )
