"""Preset files: what may stand in them, and how they are read. Unknown keys are refused.

Nothing is generated here. Numbers are integers and decimals are strings where they enter a hash.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from bench.data.seeds import SEED_MAX, SEED_MIN
from bench.data.terms import ALL_SYNTAXES, CHECK_SYNTAX, SYNTAXES, TASKS, WRITING_TASK, Lexical, Syntax, Task, View
from bench.plan.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIG_DIR = Path(__file__).parents[2] / "configs"
PRESETS = (
    "smoke",
    "pilot",
    "main",
    "hard",
    "misnamed",
    "effort_none",
    "effort_medium",
    "indent_2",
    "shots_0",
    "shots_2",
    "shots_16",
    "all_func",
)
DEFAULT_MODEL = "gpt-5.6-terra"
DEFAULT_BASE_URL = "https://api.openai.com/v1"

_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")

Phase = Literal["p0", "p1"]
Effort = Literal["none", "low", "medium", "high", "xhigh", "max"]


class Strict(BaseModel):
    """Base of everything in a preset file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


M = TypeVar("M", bound=Strict)


def _distinct(values: list[Any]) -> list[Any]:
    if len(set(values)) != len(values):
        raise ValueError("each entry once")
    return values


def _seed(text: str) -> str:
    if not SEED_MIN <= int(text) <= SEED_MAX:
        raise ValueError("a signed 64-bit integer as a decimal string")
    return text


Depth = Annotated[int, Field(ge=2, le=32)]
Filler = Annotated[int, Field(ge=0, le=4096)]
Seed = Annotated[str, Field(pattern=r"^(0|-?[1-9][0-9]{0,18})$"), AfterValidator(_seed)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Grid(Strict):
    """Families for each cell of depths x fillers."""

    depths: Annotated[list[Depth], Field(min_length=1), AfterValidator(_distinct)]
    fillers: Annotated[list[Filler], Field(min_length=1), AfterValidator(_distinct)]
    seeds_per_cell: Annotated[int, Field(ge=1, le=1000)]


class WritingGrid(Grid):
    """Families of the writing task: short, for a model has to write them out."""

    depths: Annotated[list[Annotated[int, Field(ge=2, le=8)]], Field(min_length=1), AfterValidator(_distinct)]
    fillers: Annotated[list[Annotated[int, Field(ge=0, le=32)]], Field(min_length=1), AfterValidator(_distinct)]


class HandMadeCase(Strict):
    """One hand-made program with its probe in place, in named_end and natural words, and its answers by hand."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,39}$")]
    shows: str
    program: Annotated[list[str], Field(min_length=3)]
    value: Annotated[int, Field(ge=1000, le=9999)]
    stack: list[str]


class ModelSettings(Strict):
    """What is sent besides the prompt. None means: not sent. ``local`` holds the facts of an embedded model."""

    model: Annotated[str, Field(min_length=1, max_length=200)] = DEFAULT_MODEL
    base_url: Annotated[str, Field(min_length=1)] = DEFAULT_BASE_URL
    reasoning_effort: Effort | None = "low"
    max_output_tokens_reading: Annotated[int, Field(ge=16, le=1_000_000)] = 8192
    max_output_tokens_generation: Annotated[int, Field(ge=16, le=1_000_000)] = 16384
    temperature: Number | None = None
    top_p: Number | None = None
    local: dict[str, Any] | None = None


class Limits(Strict):
    """How fast and how many at once; caps on spending are given per invocation."""

    max_rpm: Annotated[int, Field(ge=1)] = 60
    max_tpm: Annotated[int, Field(ge=1)] = 200_000
    concurrency: Annotated[int, Field(ge=1, le=64)] = 4


class Bootstrap(Strict):
    """The resampling of the primary interval; its seed is derived from the master seed."""

    resamples: Annotated[int, Field(ge=100, le=1_000_000)] = 10_000


class DecisionRule(Strict):
    """When a result counts as equivalent, and how much infrastructure may be missing before none is drawn."""

    smallest_effect_pp: Annotated[int, Field(ge=1, le=100)] = 5
    max_infrastructure_missing_percent: Annotated[int, Field(ge=0, le=100)] = 1


class StopRule(Strict):
    """The share of planned trials that must be terminal before a confirmatory result is shown."""

    planned_trials_terminal_percent: Annotated[int, Field(ge=1, le=100)] = 100


class PresetConfig(Strict):
    """One preset: either a grid of generated families or hand-made cases.

    ``families_of`` names the preset whose families are asked about: the same programs, sets and ids, so that two runs
    can be compared pair by pair. ``kinds`` makes every block of one kind. None stands in no file and changes no hash.
    """

    name: Annotated[str, Field(pattern=f"^{_NAME.pattern}$")]
    confirmatory: bool = False
    master_seed: Seed
    tasks: Annotated[list[Task], Field(min_length=1), AfterValidator(_distinct)]
    include_before_close: bool
    lexical: Annotated[list[Lexical], Field(min_length=1), AfterValidator(_distinct)]
    syntaxes: Annotated[list[Syntax], Field(min_length=2), AfterValidator(_distinct)] = list(SYNTAXES)
    replicates: Annotated[int, Field(ge=1, le=100)] = 1
    few_shot_count: Literal[0, 2, 8, 16] = 8
    indentation: Literal["none", "two_spaces"] = "none"
    kinds: Literal["func"] | None = None
    families_of: Annotated[str, Field(pattern=f"^{_NAME.pattern}$")] | None = None
    reading: Grid | None = None
    writing: WritingGrid | None = None
    hand_made: list[HandMadeCase] | None = None
    model: ModelSettings = ModelSettings()
    limits: Limits = Limits()
    bootstrap: Bootstrap = Bootstrap()
    decision_rule: DecisionRule = DecisionRule()
    stop_rule: StopRule = StopRule()

    @model_validator(mode="after")
    def _grids_fit_the_tasks(self) -> Self:
        reads, writes = any(task != WRITING_TASK for task in self.tasks), WRITING_TASK in self.tasks
        if self.hand_made is not None:
            if self.reading or self.writing or self.lexical != ["natural"] or self.include_before_close:
                raise ValueError("hand-made cases stand alone: no grid, lexical natural, include_before_close false")
        elif (self.reading is not None, self.writing is not None) != (reads, writes):
            raise ValueError("tasks scope_lookup and active_stack need reading, ast_to_source needs writing, no other")
        if self.name in _RESERVED:
            raise ValueError(f"the name {self.name} is already a marker; choose another")
        return self

    @model_validator(mode="after")
    def _factors_fit_the_families(self) -> Self:
        if CHECK_SYNTAX in self.syntaxes and WRITING_TASK in self.tasks:
            raise ValueError(f"{CHECK_SYNTAX} is for reading: take {WRITING_TASK} out of tasks")
        if self.hand_made is not None and (self.kinds or self.families_of):
            raise ValueError("hand-made cases stand alone: no kinds, no families_of")
        if self.confirmatory and self.families_of is not None:
            raise ValueError("a confirmatory preset asks about families of its own: no families_of")
        return self

    @property
    def family_space(self) -> str:
        """The preset under whose name families and their sets are drawn."""
        return self.families_of or self.name

    def tasks_of(self, phase: Phase) -> list[Task]:
        """The tasks that are planned: p0 is the first one alone, whatever the preset lists."""
        return [task for task in self.tasks if phase == "p1" or task == TASKS[0]]

    @property
    def views(self) -> list[View]:
        """The views of the reading tasks."""
        return ["before_close", "after_close"] if self.include_before_close else ["after_close"]


_RESERVED = frozenset({"p0", "p1", "natural", "nonce", "program", "before_close", "after_close", *TASKS, *ALL_SYNTAXES})


class LocalSection(Strict):
    """``configs/local.json``: what ``--local`` puts in place of a preset's model settings.

    The model's name, its file and the server's options are facts of the machine and come as values.
    """

    reasoning_effort: Effort | None
    max_output_tokens_reading: Annotated[int, Field(ge=16)]
    max_output_tokens_generation: Annotated[int, Field(ge=16)]
    temperature: Number | None
    top_p: Number | None


def load_preset(name_or_path: str) -> PresetConfig:
    """The preset of that name in ``configs/``, or of a JSON file.

    Raises:
        ConfigError: naming the file and the key, what was expected, what came and the remedy.
    """
    path = _preset_path(name_or_path)
    document = read_config(path)
    if "cases_file" in document:
        document["hand_made"] = read_config(path.parent / str(document.pop("cases_file"))).get("cases")
    return validated(PresetConfig, document, str(path))


def load_local_section(path: Path = CONFIG_DIR / "local.json") -> LocalSection:
    """The model section for ``--local``.

    Raises:
        ConfigError: as `load_preset`.
    """
    return validated(LocalSection, read_config(path), str(path))


def _preset_path(name_or_path: str) -> Path:
    if name_or_path.endswith(".json"):
        return Path(name_or_path)
    path = CONFIG_DIR / f"{name_or_path}.json"
    if _NAME.fullmatch(name_or_path) is None or name_or_path == "local" or not path.is_file():
        raise ConfigError(
            f"preset: expected one of {', '.join(PRESETS)} or the path of a .json file, got {name_or_path[:80]!r}"
        )
    return path


def read_config(path: Path) -> dict[str, Any]:
    """The object in a JSON file, keys checked for repetition; ConfigError if there is none."""
    try:
        value = json.loads(path.read_bytes(), object_pairs_hook=_object)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); give the path of a preset file") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: expected a JSON object, got text that is none ({error})") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: expected a JSON object, got {type(value).__name__}")
    return value


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    repeated = {key for key, _ in pairs if sum(key == other for other, _ in pairs) > 1}
    if repeated:
        raise ValueError(f"key {min(repeated)} stands twice")
    return dict(pairs)


def validated(model: type[M], document: dict[str, Any], source: str) -> M:
    """``document`` as a ``model``; ConfigError with one line about the first defect otherwise."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise ConfigError(f"{source}: {_first_defect(error, model)}") from None


def _first_defect(error: ValidationError, model: type[Strict]) -> str:
    """The first defect as one line: the key, what was expected, what came, the remedy."""
    first = error.errors(include_url=False)[0]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    if first["type"] == "extra_forbidden":
        known = ", ".join(model.model_fields) if len(first["loc"]) == 1 else "the keys in docs/run-format.md"
        return f"key {key}: unknown; remove it or use one of {known}"
    if first["type"] == "missing":
        return f"key {key}: missing; add it as docs/run-format.md describes"
    if not key:
        return first["msg"].removeprefix("Value error, ")
    came = json.dumps(first["input"], default=str)[:60]
    return f"key {key}: {first['msg'].removeprefix('Value error, ')}; got {came}; correct it in the file"
