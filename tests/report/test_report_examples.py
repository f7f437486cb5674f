"""Failure examples are chosen by hash, not by taste."""

from __future__ import annotations

import random

from bench.plan.records import ScheduleRow
from bench.report.examples import InputExcerpt, choose, evaluable_pairs, input_excerpt
from bench.score.outcome import Outcome
from bench.score.table import ResultRow


def trial(trial_id: str, *, case: str, syntax: str, outcome: Outcome, replicate: int = 0) -> ResultRow:
    row = ScheduleRow(
        position=0, block=0, trial_id=trial_id, case_id=case, family_id=case, task="scope_lookup", view="after_close",
        syntax=syntax, lexical="natural", lexicon_set=None, example_set=0, depth=2, filler=0, seed_index=0,
        lookup_kind="inner", replicate=replicate, request_sha256="0" * 64,
    )  # fmt: skip
    strict = int(outcome is Outcome.CORRECT) if outcome.evaluable else None
    return ResultRow(row=row, outcome=outcome, strict=strict)


RIGHT, WRONG, LOST = Outcome.CORRECT, Outcome.WRONG_ANSWER, Outcome.AMBIGUOUS_OUTCOME


def pair(number: int, plus: Outcome, minus: Outcome) -> list[ResultRow]:
    case = f"case{number}"
    return [
        trial(f"{number:02d}d", case=case, syntax="named_end", outcome=plus),
        trial(f"{number:02d}b", case=case, syntax="generic_end", outcome=minus),
        trial(f"{number:02d}a", case=case, syntax="braces", outcome=WRONG),
    ]


def chosen_hashes(trials: list[ResultRow]) -> dict[str, list[str]]:
    pairs = evaluable_pairs(trials, plus="named_end", minus="generic_end")
    return {part.kind: [chosen.hash for chosen in part.pairs] for part in choose(pairs, plus="D", minus="B")}


def test_three_smallest_hashes_of_each_kind() -> None:
    """Of five pairs of a kind the three with the smallest hashes are shown; a pair's hash is its smaller trial id."""
    trials = [row for number in range(5) for row in pair(number, RIGHT, WRONG)]
    trials += [row for number in (7, 6) for row in pair(number, WRONG, RIGHT)] + pair(9, WRONG, WRONG)
    expected = {
        "D correct, B wrong": ["00b", "01b", "02b"],
        "D wrong, B correct": ["06b", "07b"],
        "both wrong": ["09b"],
    }
    assert expected == chosen_hashes(trials)


def test_the_order_of_rows_does_not_matter() -> None:
    """Shuffled rows choose the same pairs."""
    trials = [row for number in range(9) for row in pair(number, RIGHT, WRONG)]
    shuffled = random.Random(3).sample(trials, len(trials))
    assert chosen_hashes(trials) == chosen_hashes(shuffled)


def test_a_lost_half_makes_no_pair() -> None:
    """A trial whose answer never came is not shown as a failure of the model."""
    assert {"D correct, B wrong": [], "D wrong, B correct": [], "both wrong": []} == chosen_hashes(pair(1, RIGHT, LOST))


def test_both_correct_is_no_failure() -> None:
    """Successes are not examples of failure."""
    assert [] == [hashed for hashes in chosen_hashes(pair(1, RIGHT, RIGHT)).values() for hashed in hashes]


def test_a_short_test_part_is_shown_whole() -> None:
    """Only the TEST part, with the line numbers it has in the message."""
    message = "SYNTAX\nx\nTEST\nProgram prefix:\nlet x_a 1000\n"
    expected = InputExcerpt("   3 | TEST\n   4 | Program prefix:\n   5 | let x_a 1000", "lines 3–5 of 5")
    assert expected == input_excerpt(message)


def test_a_long_test_part_says_which_lines_it_shows() -> None:
    """Head and tail with their ranges; the number of lines left out stands between them."""
    shown = input_excerpt("\n".join(["EXAMPLES", "TEST", *(f"nop p_{at}" for at in range(98))]))
    assert "lines 2–9 and 85–100 of 100" == shown.ranges
    assert "     | [… 75 lines left out …]" in shown.text.split("\n")
    assert 8 + 1 + 16 == len(shown.text.split("\n"))
