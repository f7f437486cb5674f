"""Runs every check on a plan and writes ``audit.json``; refuses a run whose plan was not audited.

Which checks exist is in the modules of checks; nothing is judged here beyond adding them up.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from bench.audit.balance_checks import WordPairs, check_balance
from bench.audit.case_checks import CASE_CHECKS
from bench.audit.evidence import gather
from bench.audit.family_checks import FamilyAudit
from bench.audit.findings import Findings
from bench.audit.prompt_text import LayoutError
from bench.audit.reported import FamilyStatistics, report_sizes
from bench.data.gold import read_gold
from bench.lang.errors import OracleError
from bench.plan.errors import PlanError
from bench.plan.manifest import read_manifest
from bench.plan.plan_files import Plan
from bench.plan.run_files import AUDIT_FILE
from bench.prompt.build import build_request
from bench.prompt.episode import render_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bench.audit.findings import AuditRow
    from bench.data.gold_row import GoldRow
    from bench.lang.syntax import RenderSpec
    from bench.llm.model import LlmRequest
    from bench.plan.records import ScheduleRow, Syntax


SCHEMA = "syntax-locality-icl/audit/1"


@dataclass(frozen=True, slots=True)
class AuditReport:
    """All rows of an audit, and the hash of the manifest it was made for."""

    manifest_hash: str
    rows: tuple[AuditRow, ...]

    @property
    def passed(self) -> bool:
        """Whether everything that must hold holds."""
        return self.first_failure is None

    @property
    def first_failure(self) -> AuditRow | None:
        """The first row that must hold and does not."""
        return next((row for row in self.rows if row.passed is False), None)

    @property
    def summary(self) -> str:
        """One line: how many checks, or the first that failed with its first offender."""
        must = [row for row in self.rows if row.kind == "must"]
        failure = self.first_failure
        if failure is None:
            examined = sum(row.examined for row in must)
            return f"audit passed: {len(must)} checks, {examined} things examined"
        return f"audit failed: {failure.name}: {failure.first_offender} ({failure.number} of {failure.examined} offend)"


def audit_run(run_dir: Path, *, build: Callable[[Plan, ScheduleRow], LlmRequest] = build_request) -> AuditReport:
    """The report of a plan's audit, also written to ``audit.json``. ``build`` makes the requests that are looked at.

    Raises:
        PlanError: if there is no plan, or a plan file is not what was hashed.
        OSError: if the report cannot be written.
    """
    plan = Plan.open(run_dir)
    findings = Findings()
    _audit_cases(plan, findings, build)
    statistics = _audit_families(plan, findings)
    check_balance(plan, findings)
    statistics.report(findings)
    report_sizes(plan, findings)
    report = AuditReport(plan.manifest_hash, findings.rows())
    document = {
        "schema": SCHEMA,
        "manifest_hash": report.manifest_hash,
        "passed": report.passed,
        "rows": [asdict(row) for row in report.rows],
        "shortcuts": [asdict(entry) for entry in statistics.shortcuts()],
    }
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    (run_dir / AUDIT_FILE).write_text(text, encoding="utf-8")
    return report


def require_audit(run_dir: Path) -> None:
    """Return if the plan in ``run_dir`` has passed its audit.

    Raises:
        PlanError: if there is no audit, it failed, or it was made for another manifest.
    """
    _, manifest_hash = read_manifest(run_dir)
    path = run_dir / AUDIT_FILE
    remedy = f"run `locality audit --run {run_dir}`"
    try:
        document = json.loads(path.read_bytes())
        made_for, passed = document["manifest_hash"], document["passed"]
    except OSError:
        raise PlanError(f"{path}: expected a passed audit, got none; {remedy}") from None
    except (ValueError, KeyError, TypeError):
        raise PlanError(f"{path}: expected a passed audit, got a file that is none; {remedy}") from None
    if made_for != manifest_hash:
        raise PlanError(f"{path}: made for another manifest ({str(made_for)[:8]}, not {manifest_hash[:8]}); {remedy}")
    if passed is not True:
        raise PlanError(f"{path}: the audit failed; make a new plan, nothing may be sent for this one")


def _audit_cases(plan: Plan, findings: Findings, build: Callable[[Plan, ScheduleRow], LlmRequest]) -> None:
    gold = read_gold(plan.run_dir)
    order = {case_id: number for number, case_id in enumerate(plan.case_ids())}
    rows = [row for row in plan.schedule if row.replicate == 0]
    rows.sort(key=lambda row: order[row.case_id])
    pairs = WordPairs()
    for _, group in groupby(rows, key=lambda row: row.case_id):
        _audit_case(plan, list(group), gold, (findings, pairs, build))


def _audit_case(
    plan: Plan,
    rows: list[ScheduleRow],
    gold: Mapping[str, GoldRow],
    into: tuple[Findings, WordPairs, Callable[[Plan, ScheduleRow], LlmRequest]],
) -> None:
    findings, pairs, build = into
    try:
        evidence = gather(plan, rows, gold, build)
        for check in CASE_CHECKS:
            check(evidence, findings)
        pairs.look(evidence, findings)
    except LayoutError as error:
        findings.must("prompts can be taken apart and parsed", False, str(error))
    except (OracleError, ValueError, KeyError) as error:  # a case whose cut or family is none: the plan's defect
        findings.must("every cut has an answer", False, f"{rows[0].case_id}: {error}")
    else:
        findings.must("prompts can be taken apart and parsed", True, rows[0].case_id)


def _audit_families(plan: Plan, findings: Findings) -> FamilyStatistics:
    protocol = plan.typed_protocol
    config = protocol.preset_config()
    audit = FamilyAudit(
        config.families_of or protocol.preset, config.hand_made is not None, config.tasks_of(protocol.phase)
    )
    specs = _specs_by_family(plan)
    statistics = FamilyStatistics()
    for family_id in plan.family_ids():
        family = plan.family(family_id)
        try:
            audit.check(family, specs.get(family_id, ()), findings)
            statistics.look(family)
        except (OracleError, ValueError) as error:
            findings.must("every cut has an answer", False, f"{family_id}: {error}")
        else:
            findings.must("every cut has an answer", True, family_id)
    return statistics


def _specs_by_family(plan: Plan) -> dict[str, tuple[RenderSpec, ...]]:
    """Every notation and lexicon in which a family is written somewhere."""
    words: dict[str, dict[tuple[Syntax, int | None], str]] = {}
    for row in plan.schedule:
        words.setdefault(row.family_id, {}).setdefault((row.syntax, row.lexicon_set), row.case_id)
    return {
        family_id: tuple(
            render_spec(*pair, style=plan.prompt_style, aliases=plan.case(case_id).aliases)
            for pair, case_id in pairs.items()
        )
        for family_id, pairs in words.items()
    }
