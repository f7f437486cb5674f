"""Schedule rows, terminal records and small programs for the grading tests."""

from __future__ import annotations

from bench.lang.ast import CutPoint, Kind, Let, Nop, Program, Scope
from bench.plan.records import ScheduleRow
from bench.run.records import TerminalRecord

MINI = Program(
    (
        Let("x_a", 1048),
        Scope(
            Kind.UNIT,
            "n_qazwsxed",
            (
                Let("x_a", 7321),
                Scope(Kind.AREA, "n_siblings", (Let("x_a", 2222),)),
                Scope(
                    Kind.FUNC,
                    "n_plmoknij",
                    (
                        Let("x_a", 5916),
                        Let("x_b", 4444),
                        Scope(
                            Kind.UNIT,
                            "n_uhbygvtf",
                            (Let("x_a", 6543), Scope(Kind.AREA, "n_deepests", (Let("x_a", 8604), Nop("p_abcdefgh")))),
                        ),
                    ),
                ),
            ),
        ),
    )
)
"""x_a: 1048 global, 7321 unit, 2222 closed sibling, 5916 func, 6543 unit, 8604 deepest; then the two innermost close."""
AFTER = CutPoint(16, "q_zxcvbnma", "x_a")
BEFORE = CutPoint(14, "q_zxcvbnma", "x_a")


def row(task="scope_lookup", syntax="named_end", lexicon_set=None):
    return ScheduleRow(
        position=0,
        block=0,
        trial_id="t" * 64,
        case_id="c",
        family_id="f",
        task=task,
        view="program" if task == "ast_to_source" else "after_close",
        syntax=syntax,
        lexical="natural" if lexicon_set is None else "nonce",
        lexicon_set=lexicon_set,
        example_set=0,
        depth=4,
        filler=1,
        seed_index=0,
        lookup_kind="inner",
        replicate=0,
        request_sha256="0" * 64,
    )


def terminal(text="", ending="answered", **changes):
    values = {
        "trial_id": "t" * 64,
        "ending": ending,
        "status": "completed",
        "text": text,
        "refusals": [],
        "incomplete_reason": None,
        "suspected_truncation": False,
        "response_id": "r",
        "returned_model": "m",
        "request_id": None,
        "usage": None,
        "counted_input_tokens": None,
        "error": None,
        "backend": "mock-oracle",
        "synthetic_mock": True,
        "series": 1,
        "queue_s": 0.0,
        "count_s": 0.0,
        "attempts": [],
        "backoff_s": 0.0,
        "total_s": 1.0,
        "sent_at": None,
        "ended_at": "2026-11-30T00:00:00Z",
    }
    return TerminalRecord(**(values | changes))
