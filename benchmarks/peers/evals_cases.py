"""The prompts as cases of pytest-evals, as its guide has them: one case per prompt, answers in the bag, then analysis.

Copied to ``test_reading.py`` in a folder of its own with ``prompts.jsonl`` beside it:
``pytest --run-eval -n 4 --supress-failed-exit-code``, then ``pytest --run-eval-analysis``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = [json.loads(line) for line in (Path(__file__).parent / "prompts.jsonl").read_text().splitlines()]


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    """One client per worker process."""
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    with httpx.Client(base_url=os.environ["OPENAI_BASE_URL"], headers=headers, timeout=60) as shared:
        yield shared


@pytest.mark.eval(name="reading")
@pytest.mark.parametrize("case", CASES, ids=[case["id"][:12] for case in CASES])
def test_reading(case: dict[str, Any], eval_bag: Any, client: httpx.Client) -> None:
    """One prompt; a wrong answer is a failed case."""
    body = client.post("/responses", json=case["request"]).raise_for_status().json()
    parts = [part for item in body["output"] if item["type"] == "message" for part in item["content"]]
    eval_bag.id = case["id"]
    eval_bag.prediction = "".join(part["text"] for part in parts if part["type"] == "output_text")
    eval_bag.correct = eval_bag.prediction.strip() == case["target"]


@pytest.mark.eval_analysis(name="reading")
def test_analysis(eval_results: list[Any]) -> None:
    """The share of right answers over all cases."""
    print(sum(case.result.correct for case in eval_results) / len(eval_results))
