"""Writes a plan: families, cases, gold, protocol, schedule, manifest. The same config gives the same bytes.

The only writer of gold. No network, no clock: the time comes as an argument and stands in the manifest alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from bench.data.family import family_to_json
from bench.data.gold import HandAnswers, gold_by_hand, gold_of, gold_to_json
from bench.plan.draft import draft_plan
from bench.plan.errors import PlanError
from bench.plan.landmarks import landmarks_of
from bench.plan.manifest import (
    CASES_FILE,
    FAMILIES_FILE,
    GOLD_FILE,
    MANIFEST_FILE,
    PROTOCOL_FILE,
    SCHEDULE_FILE,
    manifest_document,
)
from bench.plan.protocol import Counts, Hashes, code_hashes, protocol_document
from bench.plan.records import ScheduleRow
from bench.plan.schedule import Scheduler
from bench.prompt.build import request_of, request_sha256
from bench.prompt.episode import prompt_parts
from bench.prompt.measure import measure
from bench.prompt.style import style_of
from bench.wire.hashing import hash_document, hash_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from bench.data.expand import Case
    from bench.data.family import Family
    from bench.data.gold_row import GoldRow
    from bench.data.terms import Syntax
    from bench.plan.config import ModelSettings, Phase, PresetConfig
    from bench.plan.draft import Draft
    from bench.plan.schedule import Block
    from bench.prompt.style import PromptStyle

RequestHashes = dict[tuple[str, "Syntax"], str]


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """What was planned."""

    preset: str
    phase: Phase
    run_dir: Path
    protocol_hash: str
    families: int
    cases: int
    blocks: int
    trials: int


def plan_name(preset: str, phase: Phase, backend: str, protocol_hash: str) -> str:
    """The folder of an implicit plan under ``runs/``; ``backend`` is live, local or mock-<mode>."""
    return f"{preset}-{phase}-{backend}-{protocol_hash[:8]}"


def write_plan(
    config: PresetConfig, *, phase: Phase, model: ModelSettings, out: Path, grader_hash: str, created_at: str
) -> PlanSummary:
    """The summary of the plan written into ``out``, a new or empty folder.

    ``grader_hash`` is the fingerprint of the graders that will judge the answers; ``created_at`` is UTC, ISO 8601.

    Raises:
        ConfigError: if the preset cannot be planned.
        PlanError: if ``out`` is not an empty folder.
        OSError: if a file cannot be written.
    """
    _claim(out)
    draft = draft_plan(config, phase)
    written = _Written(config.syntaxes, style_of(config.model_dump()), model)
    _write_data(out, draft, written)
    blocks = Scheduler(config.name, int(config.master_seed), config.syntaxes, config.replicates).blocks(draft.cases)
    counts = Counts(
        families=len(draft.families),
        cases=len(draft.cases),
        blocks=len(blocks),
        trials=len(blocks) * len(config.syntaxes),
    )
    hashes = Hashes(
        **code_hashes(config, phase),
        grader=grader_hash,
        families=hash_file(out / FAMILIES_FILE),
        cases=hash_file(out / CASES_FILE),
        gold=hash_file(out / GOLD_FILE),
    )
    document = protocol_document(config, phase, model=model, hashes=hashes, counts=counts)
    protocol_hash = hash_document(document)
    (out / PROTOCOL_FILE).write_text(_pretty(document), encoding="utf-8")
    _write_rows(out / SCHEDULE_FILE, (asdict(row) for row in _schedule_rows(blocks, protocol_hash, written.requests)))
    manifest = manifest_document(
        out, created_at=created_at, package_version=version("syntax-locality-icl"), protocol_hash=protocol_hash
    )
    (out / MANIFEST_FILE).write_text(_pretty(manifest), encoding="utf-8")
    return PlanSummary(config.name, phase, out, protocol_hash, **counts.model_dump())


def _claim(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise PlanError(f"{out}: expected a folder for the plan, got a file; choose another name") from None
    if any(out.iterdir()):
        raise PlanError(f"{out}: expected an empty folder for the plan; choose another name or remove what is there")


@dataclass(slots=True)
class _Written:
    """In which notations, style and settings cases are written, and the hash of each request that this gives."""

    syntaxes: list[Syntax]
    style: PromptStyle
    model: ModelSettings
    requests: RequestHashes = field(default_factory=dict)


def _write_data(out: Path, draft: Draft, written: _Written) -> None:
    """Write families, cases and gold; fills in the request hashes."""
    _write_rows(out / FAMILIES_FILE, map(family_to_json, draft.families))
    _write_rows(out / CASES_FILE, (_case_row(case, family, written) for case, family in draft.cases))
    _write_rows(out / GOLD_FILE, (gold_to_json(_gold(draft, case, family)) for case, family in draft.cases))


def _gold(draft: Draft, case: Case, family: Family) -> GoldRow:
    """A person's answer where there is one, else the oracle's; the audit compares both kinds with both oracles."""
    made = draft.by_hand.get(family.family_id)
    if made is None:
        return gold_of(case, family)
    return gold_by_hand(case, family, HandAnswers(made.value, tuple(made.stack)))


def _case_row(case: Case, family: Family, written: _Written) -> dict[str, Any]:
    """A row of ``cases.jsonl``; adds the case's request hashes. ``aliases`` stand in it only where they are used."""
    landmarks = None if case.cut is None else landmarks_of(family, case.cut)
    measures: dict[str, object] = {}
    for syntax in written.syntaxes:
        parts = prompt_parts(case, family, syntax, written.style)
        written.requests[case.case_id, syntax] = request_sha256(request_of(parts, case.task, written.model))
        measures[syntax] = measure(parts, case.task, landmarks)
    row = asdict(case)
    if case.aliases is None:
        del row["aliases"]
    return {**row, "measures": measures}


def _schedule_rows(blocks: Iterable[Block], protocol_hash: str, requests: RequestHashes) -> Iterator[ScheduleRow]:
    position = 0
    for number, block in enumerate(blocks):
        for syntax in block.order:
            request = requests[block.case.case_id, syntax]
            yield _schedule_row(block, syntax, request, (position, number, protocol_hash))
            position += 1


def _schedule_row(block: Block, syntax: Syntax, request: str, place: tuple[int, int, str]) -> ScheduleRow:
    case, family = block.case, block.family
    position, number, protocol_hash = place
    return ScheduleRow(
        position=position,
        block=number,
        trial_id=trial_id(case, syntax, block.replicate, protocol_hash=protocol_hash, request_sha256=request),
        case_id=case.case_id,
        family_id=case.family_id,
        task=case.task,
        view=case.view,
        syntax=syntax,
        lexical=case.lexical,
        lexicon_set=case.lexicon_set,
        example_set=case.example_set,
        depth=family.depth,
        filler=family.filler,
        seed_index=family.seed_index,
        lookup_kind=family.lookup_kind,
        replicate=block.replicate,
        request_sha256=request,
    )


def trial_id(case: Case, syntax: Syntax, replicate: int, *, protocol_hash: str, request_sha256: str) -> str:
    """The id of one trial: the hash of what it asks, under which protocol, in which words, and which repetition."""
    return hash_document(
        {
            "protocol_hash": protocol_hash,
            "family_id": case.family_id,
            "task": case.task,
            "view": case.view,
            "syntax": syntax,
            "lexical": case.lexical,
            "lexicon_set": case.lexicon_set,
            "replicate": replicate,
            "request_sha256": request_sha256,
        }
    )


def _pretty(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _write_rows(path: Path, rows: Iterable[object]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
