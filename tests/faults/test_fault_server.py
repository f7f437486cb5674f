"""A hostile server met by real sessions: each fault is booked as what it is, and the session goes on to its end."""

import json
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.run.records import EVALUABLE_ENDINGS
from bench.run.records_io import read_run_terminal
from bench.run.status import status
from bench.score.scores import read_scores
from tests.faults.hostile_parts import ELSEWHERE, PARTS, Part
from tests.faults.worlds import FAST, TrialServer, box_for, caps, plan_run, totals_of
from tests.plugin.boxes import KEY, Session

pytestmark = pytest.mark.faults

IMPATIENT = """
import bench.llm.retry as retry
import bench.llm.transport as transport
from bench.llm.sockets import TransportLimits

transport.Transport.__init__.__kwdefaults__["limits"] = TransportLimits(deadline_s=3.0)
retry._MAX_BACKOFF_S = 0.05
"""


@dataclass(frozen=True)
class Aftermath:
    """One session in which every trial met another fault; the trial ids in the order of the parts."""

    session: Session
    run: Path
    trials: list[str]
    server: TrialServer
    sent: dict[str, int]
    junit: Path


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory):
    """All parts in one session of four workers, whose total deadline is 3 s and whose jitter is short; midnight UTC may come."""
    folder = tmp_path_factory.mktemp("hostile")
    with TrialServer() as server:
        box = box_for(folder / "box", server.base_url)
        plan = plan_run(folder / "run", server.base_url, seeds=4)
        trials = server.assign(plan, [part.steps for part in PARTS])
        impatient = box.plugin("impatient", IMPATIENT)
        flags = (*caps(), *FAST, "--accept-carryover", "-n4", "-rA", "-v", "-l", "--junitxml=junit.xml", impatient)
        session = box.pytest("evals", f"--run={plan.run_dir}", *flags, timeout_s=600)
        sent = {row.trial_id: server.by_hash[row.request_sha256] for row in plan.schedule}
        yield Aftermath(session, plan.run_dir, trials, server, sent, box.root / "junit.xml")


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_each_fault_has_its_outcome(aftermath: Aftermath, part: Part):
    """The trial's end, its text where it has one, and how many generations it took at the server."""
    trial = aftermath.trials[PARTS.index(part)]
    terminal = read_run_terminal(aftermath.run, trial)
    end = terminal.ending if terminal else "ambiguous" if trial in status(aftermath.run).ambiguous else "pending"
    assert (part.end, part.sent) == (end, aftermath.sent[trial])
    if part.text is not None:
        assert part.text == terminal.text


def test_the_session_goes_on_to_its_end(aftermath: Aftermath):
    """No item failed, nothing crashed or was left out: exit 1 for what is missing, and the report is written."""
    session = aftermath.session
    assert 1 == session.code, session.text
    assert not {"failed", "error", "errors"} & set(session.counts)
    assert "INTERNALERROR" not in session.text
    assert 80 == sum(session.counts.values())
    assert 80 - sum(part.end == "ambiguous" for part in PARTS) == status(aftermath.run).terminal
    assert (aftermath.run / "report.md").is_file()
    assert 80 == len(ET.parse(aftermath.junit).findall(".//testcase"))


def test_nothing_of_infrastructure_is_a_wrong_answer(aftermath: Aftermath):
    """Whatever the network or the API did has no score; whatever the model did has one."""
    scores = {row.trial_id: row for row in read_scores(aftermath.run)}
    for trial, part in zip(aftermath.trials, PARTS, strict=True):
        observed = part.end in EVALUABLE_ENDINGS
        assert (observed, observed) == (scores[trial].evaluable, scores[trial].strict is not None), part.name


def test_what_may_have_been_billed_stays_booked(aftermath: Aftermath):
    """The ledger's total covers the server's, and no reservation is left in flight."""
    totals = totals_of(aftermath.run)
    assert 0 == totals.in_flight_tokens
    assert (
        aftermath.server.billed_tokens
        <= sum(totals.by_window.values()) + totals.unresolved_tokens + totals.carried_tokens
    )


def test_the_key_that_came_back_is_nowhere(aftermath: Aftermath):
    """Neither in the run directory, nor in the terminal, nor in junit; the stored answer says that it was masked."""
    stored = [path for path in aftermath.run.rglob("*") if path.is_file()]
    shown = [aftermath.session.text.encode(), aftermath.junit.read_bytes()]
    assert [] == [path for path in stored if KEY.encode() in path.read_bytes()]
    assert all(KEY.encode() not in text for text in shown)
    echoed = aftermath.trials[[part.name for part in PARTS].index("key-in-the-answer")]
    record = json.loads((aftermath.run / "trials" / echoed / "terminal.json").read_text())
    assert record["redacted"] is True


def test_nothing_is_sent_elsewhere(aftermath: Aftermath):
    """Every request that left went to the one server: each redirect is an answer."""
    assert ELSEWHERE.encode() not in b"".join(request.body for request in aftermath.server.requests)
    generations = sum(aftermath.sent.values())
    assert generations == sum(part.sent for part in PARTS) + 80 - len(PARTS)
