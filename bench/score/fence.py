"""Takes one code fence off an answer that stands wholly inside it, for the auxiliary score only (specification, 10.1).

No other normalization may be added here.
"""

from __future__ import annotations

FENCE = "```"


def without_fence(text: str) -> str:
    """What stands between the fences; the text itself unless one fence covers the whole answer.

    The opening line is three backticks and at most one word, the last line three backticks, and none stands between.
    """
    lines = text.strip().split("\n")
    opening, closing = lines[0].strip(), lines[-1].strip()
    is_fence = len(lines) > 1 and opening.startswith(FENCE) and closing == FENCE
    inside = "\n".join(lines[1:-1])
    if not is_fence or FENCE in inside or FENCE in opening[3:] or len(opening[3:].split()) > 1:
        return text
    return inside
