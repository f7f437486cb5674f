"""Grades a T1 answer: the whole answer must be one decimal integer (specification, 10.1).

Text and gold in, judgement out. What a wrong integer may mean is in ``lookup_diagnosis``.
"""

from __future__ import annotations

import re

from bench.score.outcome import Outcome

INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")


def grade_lookup(text: str, value: int) -> tuple[Outcome, str]:
    """Outcome and reason. Surrounding white space is ignored, and nothing else.

    An integer is ASCII digits with an optional minus sign; a plus sign, separators and leading zeros are format errors.
    Compared as text, so that no number is too long.
    """
    answer = text.strip()
    if INTEGER.fullmatch(answer) is None:
        return Outcome.INVALID_ANSWER_FORMAT, "no answer text" if not answer else "not one decimal integer"
    if answer == str(value):
        return Outcome.CORRECT, "exact value"
    return Outcome.WRONG_ANSWER, "another integer"
