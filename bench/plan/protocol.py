"""``protocol.json``: everything that fixes what is asked, of whom and how the answers will be judged, as data.

Final when a plan is written; its hash enters every trial id. It holds no decimals, no time and nothing of this machine.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from bench.data.fingerprint import generator_hash
from bench.data.seeds import Purpose, child_seed, namespace
from bench.data.terms import CHECK_SYNTAX
from bench.plan.config import ModelSettings, Phase, PresetConfig, Strict
from bench.prompt.episode import lexicon_hash, notation_hash, template_hash

SCHEMA = "syntax-locality-icl/protocol/1"
PRIMARY = {"task": "scope_lookup", "view": "after_close", "contrast": "named_end-generic_end"}
EXPLORATORY_CONTRASTS = (
    "named_end-padded_end",
    "named_end-typed_end",
    "typed_end-generic_end",
    "generic_end-braces",
    "typed_end-braces",
    "named_end-braces",
    "padded_end-braces",
)
CHECK_CONTRASTS = ("misnamed_end-named_end", "misnamed_end-generic_end")
"""Exploratory too, and only in a plan that holds the notation of the manipulation check."""


class Hashes(Strict):
    """SHA-256 of everything the protocol stands on; files by their bytes, code by what it answers, text as text."""

    generator: str
    grader: str
    templates: dict[str, str]
    notations: dict[str, str]
    lexicons: dict[str, str]
    families: str
    cases: str
    gold: str


class Counts(Strict):
    """How much was planned."""

    families: int
    cases: int
    blocks: int
    trials: int


class Protocol(Strict):
    """The protocol as a checked value. ``config`` and ``model`` are plain data here; see `preset` and `settings`."""

    schema_: str = Field(alias="schema")
    preset: str
    phase: Phase
    confirmatory: bool
    config: dict[str, Any]
    model: dict[str, Any]
    seeds: dict[str, str]
    hashes: Hashes
    counts: Counts
    analysis: dict[str, Any]
    decision_rule: dict[str, Any]
    stop_rule: dict[str, Any]

    def preset_config(self) -> PresetConfig:
        """The preset that was planned."""
        return PresetConfig.model_validate({**self.config, "model": _with_numbers(self.config["model"])})

    def settings(self) -> ModelSettings:
        """The model settings that are sent."""
        return ModelSettings.model_validate(_with_numbers(self.model))


def protocol_document(
    config: PresetConfig, phase: Phase, *, model: ModelSettings, hashes: Hashes, counts: Counts
) -> dict[str, Any]:
    """The document to write as ``protocol.json``."""
    bootstrap_seed = child_seed(int(config.master_seed), namespace(config.name, Purpose.BOOTSTRAP), 0)
    return {
        "schema": SCHEMA,
        "preset": config.name,
        "phase": phase,
        "confirmatory": config.confirmatory,
        "config": _config_document(config),
        "model": _decimal_strings(model.model_dump(mode="json")),
        "seeds": {"master": config.master_seed, "bootstrap": str(bootstrap_seed)},
        "hashes": hashes.model_dump(),
        "counts": counts.model_dump(),
        "analysis": _analysis(config),
        "decision_rule": _decision_rule(config),
        "stop_rule": _stop_rule(config),
    }


def code_hashes(config: PresetConfig, phase: Phase) -> dict[str, Any]:
    """The hashes of the present code that a plan of ``config`` stands on: generator, templates, notations, lexicons."""
    sets: list[int | None] = [None] if "natural" in config.lexical else []
    sets += list(range(8)) if "nonce" in config.lexical else []
    return {
        "generator": generator_hash(),
        "templates": {task: template_hash(task) for task in config.tasks_of(phase)},
        "notations": {syntax: notation_hash(syntax) for syntax in config.syntaxes},
        "lexicons": {"natural" if number is None else f"nonce{number}": lexicon_hash(number) for number in sets},
    }


def _config_document(config: PresetConfig) -> dict[str, Any]:
    """The preset as data, without the parts it does not have."""
    document = {key: value for key, value in config.model_dump(mode="json").items() if value is not None}
    return {**document, "model": _decimal_strings(document["model"])}


def _decimal_strings(model: dict[str, Any]) -> dict[str, Any]:
    """Model settings with their two decimals as text: a hashed document holds no decimals."""
    return {key: str(value) if key in _DECIMALS and value is not None else value for key, value in model.items()}


def _with_numbers(model: dict[str, Any]) -> dict[str, Any]:
    return {key: float(value) if key in _DECIMALS and value is not None else value for key, value in model.items()}


_DECIMALS = frozenset({"temperature", "top_p"})


def _analysis(config: PresetConfig) -> dict[str, Any]:
    checks = CHECK_SYNTAX in config.syntaxes
    return {
        "primary": PRIMARY,
        "estimand": "mean over regimes of correct(named_end) - correct(generic_end) within a family, replicates "
        "averaged first; families equal within a stratum, strata (depth x filler) equal; percentage points",
        "unit": "family",
        "inclusion": "a family enters a contrast if every cell of regime x the two notations is evaluable",
        "interval": "stratified paired cluster bootstrap of families, percentile, 95 %",
        "percentile_rule": "linear interpolation at (n-1)p",
        "resamples": config.bootstrap.resamples,
        "bootstrap_generator": "numpy PCG64, seeded with seeds.bootstrap modulo 2^64",
        "bootstrap_order": "strata by depth, filler; families by seed_index",
        "checks": ["exact_bootstrap", "stratified_t", "sign_flip", "mcnemar", "missing_bounds", "missingness_test"],
        "exploratory_contrasts": [*EXPLORATORY_CONTRASTS, *(CHECK_CONTRASTS if checks else ())],
        "exploratory_adjustment": "holm",
        "everything_else": "exploratory",
    }


def _decision_rule(config: PresetConfig) -> dict[str, Any]:
    return {
        "smallest_effect_pp": config.decision_rule.smallest_effect_pp,
        "max_infrastructure_missing_percent": config.decision_rule.max_infrastructure_missing_percent,
        "order": [
            {
                "verdict": "withheld",
                "when": "provisional, below the stop rule, or infrastructure missing above the limit",
            },
            {"verdict": "inconclusive", "when": "the interval is degenerate or narrow"},
            {"verdict": "positive", "when": "the 95 % percentile interval lies above 0"},
            {"verdict": "negative", "when": "the 95 % percentile interval lies below 0"},
            {"verdict": "equivalent", "when": "the stratified-t 90 % interval lies inside +- smallest_effect_pp"},
            {"verdict": "inconclusive", "when": "otherwise"},
        ],
    }


def _stop_rule(config: PresetConfig) -> dict[str, Any]:
    return {
        "planned_trials_terminal_percent": config.stop_rule.planned_trials_terminal_percent,
        "interim_looks": 0,
        "reasons_to_stop": [
            "all planned trials are terminal",
            "a cap of tokens, calls or attempts",
            "a provider failure",
        ],
        "never": "stopping because a result looks good or bad",
    }
