"""The loop one writes first: plain httpx, four threads, a list, one file at the end. A rerun starts from nothing.

python httpx_loop.py PROMPTS ANSWERS    (reads OPENAI_API_KEY and OPENAI_BASE_URL)
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

CONCURRENCY = 4


def text_of(response: dict[str, Any]) -> str:
    """The text of a Responses object."""
    parts = [part for item in response["output"] if item["type"] == "message" for part in item["content"]]
    return "".join(part["text"] for part in parts if part["type"] == "output_text")


def main() -> None:
    """Command line."""
    prompts, answers = map(Path, sys.argv[1:])
    records = [json.loads(line) for line in prompts.read_text().splitlines()]
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    with (
        httpx.Client(base_url=os.environ["OPENAI_BASE_URL"], headers=headers, timeout=60) as client,
        ThreadPoolExecutor(CONCURRENCY) as pool,
    ):

        def ask(record: dict[str, Any]) -> dict[str, Any]:
            response = client.post("/responses", json=record["request"]).raise_for_status()
            text = text_of(response.json())
            return {"id": record["id"], "answer": text, "correct": text.strip() == record["target"]}

        results = list(pool.map(ask, records))
    answers.write_text("".join(json.dumps(result) + "\n" for result in results))


if __name__ == "__main__":
    main()
