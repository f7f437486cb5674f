"""What a grader needs of a run directory beside the answer: gold, and the program and cut for diagnosis. Reads only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bench.data.gold import read_gold
from bench.data.terms import CHECK_SYNTAX
from bench.lang.lexicon import lexicon_for
from bench.lang.render import render_program
from bench.lang.syntax import NOTATIONS, RenderSpec
from bench.lang.tree import program_from_json
from bench.plan.plan_files import Plan
from bench.score.grade import NO_CONTEXT, GradeContext, grade
from bench.score.outcome import Outcome, Score

if TYPE_CHECKING:
    from pathlib import Path

    from bench.plan.records import ScheduleRow
    from bench.run.records import TerminalRecord
    from bench.run.states import TrialState

NOT_SENT = Score(Outcome.NOT_DISPATCHED, None, "not sent", {})
SENT_AGAIN_LATER = Score(Outcome.NOT_DISPATCHED, None, "sent without an answer; waits to be sent again", {})
AMBIGUOUS = Score(Outcome.AMBIGUOUS_OUTCOME, None, "sent, and nothing came back", {})


class Grader:
    """Scores the trials of one run. Gold is opened when it is made."""

    def __init__(self, run_dir: Path, *, plan: Plan | None = None) -> None:
        self.plan = plan or Plan.open(run_dir, verify=False)
        self._gold = read_gold(run_dir)

    def score(self, row: ScheduleRow, terminal: TerminalRecord | None, state: TrialState = "not_dispatched") -> Score:
        """The score of a planned trial; ``state`` says what became of one without terminal record."""
        if terminal is not None:
            return grade(row, terminal, self._gold[row.case_id], self._context(row))
        match state:
            case "ambiguous":
                return AMBIGUOUS
            case "pending":
                return SENT_AGAIN_LATER
            case _:
                return NOT_SENT

    def outcome(self, row: ScheduleRow, terminal: TerminalRecord) -> Outcome:
        """The outcome alone, for a progress line: no program is read, for diagnosis decides nothing."""
        return grade(row, terminal, self._gold[row.case_id]).outcome

    def expected(self, row: ScheduleRow) -> str:
        """The right answer as text: the integer, the JSON array, or the program in the row's notation and words."""
        gold = self._gold[row.case_id]
        if gold.stack is not None:
            return json.dumps(gold.stack)
        if gold.ast is not None:
            spec = RenderSpec(NOTATIONS[row.syntax], lexicon_for(row.lexicon_set))
            return render_program(program_from_json(gold.ast), spec)
        return str(gold.value)

    def _context(self, row: ScheduleRow) -> GradeContext:
        if row.view == "program":
            return NO_CONTEXT
        case = self.plan.case(row.case_id)
        wrong_names = frozenset((case.aliases or {}).values()) if row.syntax == CHECK_SYNTAX else frozenset()
        return GradeContext(self.plan.family(row.family_id).program, case.cut, wrong_names)
