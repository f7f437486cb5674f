"""A plan as it lies on disk: the schedule in memory, families and cases fetched by byte offset when asked for.

Reads only, and never gold. Kept lean, for every sending worker holds one.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bench.data.expand import Case
from bench.data.family import family_from_json
from bench.lang.ast import CutPoint
from bench.lang.errors import TreeError
from bench.plan.errors import PlanError
from bench.plan.manifest import (
    CASES_FILE,
    FAMILIES_FILE,
    PROTOCOL_FILE,
    SCHEDULE_FILE,
    Manifest,
    first_changed_file,
    read_manifest,
)
from bench.plan.protocol import Protocol, code_hashes
from bench.plan.records import SCHEDULE_ROW, ScheduleRow
from bench.prompt.style import style_of
from bench.wire.hashing import hash_document

if TYPE_CHECKING:
    from pathlib import Path

    from bench.data.family import Family
    from bench.plan.config import ModelSettings
    from bench.prompt.style import PromptStyle


@dataclass(slots=True)
class Plan:
    """One planned run. ``manifest_hash`` is the SHA-256 of ``manifest.json``, which an audit is tied to."""

    run_dir: Path
    manifest: Manifest
    manifest_hash: str
    protocol: dict[str, Any] = field(repr=False)
    typed_protocol: Protocol = field(repr=False)
    model: ModelSettings
    prompt_style: PromptStyle
    schedule: list[ScheduleRow] = field(repr=False)
    _families: _Rows = field(repr=False)
    _cases: _Rows = field(repr=False)

    @classmethod
    def open(cls, run_dir: Path, *, verify: bool = True) -> Plan:
        """The plan in ``run_dir``; with ``verify`` every plan file is hashed first.

        Raises:
            PlanError: if there is no plan, a file is not what was hashed, or a row is not of the described form.
        """
        manifest, manifest_hash = read_manifest(run_dir)
        if verify:
            _refuse_changes(run_dir, manifest)
        try:
            document = json.loads((run_dir / PROTOCOL_FILE).read_bytes())
            protocol = Protocol.model_validate(document)
            settings = protocol.settings()
            style = style_of(protocol.config)
            schedule = _read_schedule(run_dir / SCHEDULE_FILE)
            rows = [_Rows(run_dir / name, key) for name, key in _INDEXED]
        except (OSError, ValueError, KeyError) as error:
            raise PlanError(f"{run_dir}: {_reason(error)}; restore the run directory or make a new plan") from None
        return cls(run_dir, manifest, manifest_hash, document, protocol, settings, style, schedule, *rows)

    @property
    def protocol_hash(self) -> str:
        """The hash of ``protocol.json`` that is part of every trial id."""
        return self.manifest.protocol_hash

    def case(self, case_id: str) -> Case:
        """The case of that id; KeyError if there is none."""
        return _case(self._cases, case_id)

    def family(self, family_id: str) -> Family:
        """The family of that id; KeyError if there is none."""
        return _family(self._families, family_id)

    def measures(self, case_id: str) -> dict[str, Any]:
        """Sizes and landmarks of a case's prompt in each notation."""
        return dict(self._cases.row(case_id)["measures"])

    def case_ids(self) -> list[str]:
        """All cases in the order of the file."""
        return self._cases.ids()

    def family_ids(self) -> list[str]:
        """All families in the order of the file."""
        return self._families.ids()

    def verify_hashes(self) -> None:
        """Hash every plan file again; PlanError naming the first that changed."""
        _refuse_changes(self.run_dir, self.manifest)

    def verify_code(self, grader_hash: str) -> None:
        """Refuse a plan made with another generator, grader, prompt text, notation or lexicon; PlanError naming it."""
        planned = self.typed_protocol.hashes.model_dump()
        present = code_hashes(self.typed_protocol.preset_config(), self.typed_protocol.phase)
        for part, value in {**present, "grader": grader_hash}.items():
            if planned[part] != value:
                raise PlanError(f"{self.run_dir}: planned with another {_named(part, planned[part], value)}; {_REMEDY}")


_INDEXED = ((FAMILIES_FILE, "family_id"), (CASES_FILE, "case_id"))
_REMEDY = "use the version it was planned with, or make a new plan"


class _Rows:
    """A JSON-lines file by key: offsets in memory, rows on disk."""

    __slots__ = ("_offsets", "_path")

    def __init__(self, path: Path, key: str) -> None:
        pattern = re.compile(rb'"%b":"([^"\\]+)"' % key.encode())
        self._path = path
        self._offsets: dict[str, int] = {}
        offset = 0
        with path.open("rb") as file:
            for line in file:
                found = pattern.search(line, 0, 4096)
                if found is None:
                    raise ValueError(f"{path.name}: a row without {key}")
                self._offsets[sys.intern(found[1].decode())] = offset
                offset += len(line)

    def ids(self) -> list[str]:
        """The keys in the order of the file."""
        return list(self._offsets)

    def row(self, key: str) -> dict[str, Any]:
        """The row of ``key``; KeyError if there is none."""
        with self._path.open("rb") as file:
            file.seek(self._offsets[key])
            return dict(json.loads(file.readline()))


@lru_cache(maxsize=8)
def _family(rows: _Rows, family_id: str) -> Family:
    """The family of a row. The trials of a block ask for the same one five times, and several blocks are under way."""
    return family_from_json(rows.row(family_id))


@lru_cache(maxsize=8)
def _case(rows: _Rows, case_id: str) -> Case:
    """The case of a row; asked for as often as its family."""
    row = rows.row(case_id)
    cut = row["cut"]
    return Case(
        case_id=row["case_id"],
        family_id=row["family_id"],
        task=row["task"],
        view=row["view"],
        lexical=row["lexical"],
        lexicon_set=row["lexicon_set"],
        example_set=row["example_set"],
        cut=None if cut is None else CutPoint(cut["event_count"], cut["probe_id"], cut["variable"]),
        aliases=row.get("aliases"),
    )


def _read_schedule(path: Path) -> list[ScheduleRow]:
    with path.open("rb") as file:
        return [SCHEDULE_ROW.validate_json(line) for line in file]  # the reader holds repeated words once


def _refuse_changes(run_dir: Path, manifest: Manifest) -> None:
    changed = first_changed_file(run_dir, manifest)
    if changed is None and hash_document(json.loads((run_dir / PROTOCOL_FILE).read_bytes())) != manifest.protocol_hash:
        changed = PROTOCOL_FILE
    if changed is not None:
        raise PlanError(f"{run_dir / changed}: not the file that was planned; restore it or make a new plan")


def _reason(error: Exception) -> str:
    """One line about a file that cannot be read as part of a plan."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{error.title}: {'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    if isinstance(error, TreeError | KeyError):
        return f"a row that is not of the described form ({error})"
    return " ".join(str(error).split())


def _named(part: str, planned: object, present: object) -> str:
    """The part that differs, down to the template, notation or lexicon."""
    if isinstance(planned, dict) and isinstance(present, dict):
        differing = [name for name in planned if planned[name] != present.get(name)]
        return f"{part.removesuffix('s')} {', '.join(differing)}"
    return part
