"""The vendor's SDK in a pool of four threads: each answer becomes a line at once, and a rerun skips what has a line.

python sdk_pool.py PROMPTS ANSWERS    (the SDK reads OPENAI_API_KEY and OPENAI_BASE_URL)
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from openai import OpenAI

CONCURRENCY = 4


def answered(path: Path) -> set[str]:
    """The ids that have a whole line; a line that a kill cut short counts for nothing and is cut off."""
    if not path.exists():
        return set()
    whole = path.read_bytes()
    whole = whole[: whole.rfind(b"\n") + 1]
    path.write_bytes(whole)
    return {json.loads(line)["id"] for line in whole.splitlines()}


def main() -> None:
    """Command line."""
    prompts, answers = map(Path, sys.argv[1:])
    done = answered(answers)
    todo = [record for record in map(json.loads, prompts.read_text().splitlines()) if record["id"] not in done]
    client = OpenAI()

    def ask(record: dict[str, Any]) -> dict[str, Any]:
        response = client.responses.create(**record["request"])
        text = response.output_text
        return {"id": record["id"], "answer": text, "correct": text.strip() == record["target"]}

    with ThreadPoolExecutor(CONCURRENCY) as pool, answers.open("a") as file:
        for future in as_completed([pool.submit(ask, record) for record in todo]):
            file.write(json.dumps(future.result()) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
