"""``preregistration.md``: the protocol as a text that can be read alone. Written from data, never by hand.

Only wording is here; every number comes from the protocol and the facts of the freeze.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench.plan.freeze_facts import FreezeFacts
    from bench.plan.tried_grids import TriedGrid

_QUESTION = """\
Programs of one small scope language are written in five notations that differ only in how blocks close. Does a
language model say more often correctly which value a variable has when closing lines repeat the kind and the name of
the block (named_end) than when they are a bare word (generic_end)? No effect, harm, and an effect of length alone are
results of equal standing."""

_ALIASES = """\
The alias of a hosted model can change behind its name; requested and returned names, dates and response ids are kept
with every trial."""


def preregistration(protocol: Mapping[str, Any], facts: FreezeFacts) -> str:
    """The text, Markdown, ended by LF."""
    parts = (
        ["# Preregistration", "", f"Frozen {facts.date}, before any trial of this run was sent."],
        ["## Question", "", _QUESTION],
        _design(protocol),
        _model(protocol["model"]),
        _analysis(protocol),
        _decision(protocol["decision_rule"]),
        _stop(protocol["stop_rule"]),
        _size(protocol, facts),
        _tried(facts.tried_grids),
        _identity(protocol["hashes"], facts),
    )
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _design(protocol: Mapping[str, Any]) -> list[str]:
    config, counts = protocol["config"], protocol["counts"]
    views = "before_close and after_close" if config["include_before_close"] else "after_close"
    grids = [f"- families for {_grid(group, config[group])}" for group in ("reading", "writing") if group in config]
    size = f"{counts['families']} families, {counts['cases']} cases, {counts['trials']} trials"
    return [
        "## Design",
        "",
        f"- preset {protocol['preset']}, phase {protocol['phase']}, tasks {_listed(config['tasks'])}, views {views}",
        *grids,
        f"- regimes of words: {_listed(config['lexical'])}; notations: {_listed(config['syntaxes'])}",
        f"- {size} ({config['replicates']} per case and notation)",
        f"- {config['few_shot_count']} solved examples in every prompt, the same for all notations of a family",
        "- half of each cell asks for the innermost open block's own binding, half for one further out",
        "- order: blocks shuffled, the notations inside a block by a Latin square of its task and cell",
    ]


def _grid(group: str, grid: Mapping[str, Any]) -> str:
    cell = f"{grid['seeds_per_cell']} in each cell"
    return f"{group}: depths {_listed(grid['depths'])}, fillers {_listed(grid['fillers'])}, {cell}"


def _model(model: Mapping[str, Any]) -> list[str]:
    labels = {
        "reasoning_effort": "reasoning effort",
        "max_output_tokens_reading": "output limit in tokens, reading tasks",
        "max_output_tokens_generation": "output limit in tokens, writing task",
        "temperature": "temperature",
        "top_p": "top_p",
    }
    sent = [f"- {label}: {'not sent' if model[key] is None else model[key]}" for key, label in labels.items()]
    return ["## Model", "", f"- {model['model']} at {model['base_url']}", *sent]


def _analysis(protocol: Mapping[str, Any]) -> list[str]:
    analysis = protocol["analysis"]
    primary = analysis["primary"]
    return [
        "## Analysis",
        "",
        f"Primary contrast: {primary['contrast']} in {primary['task']}, {primary['view']}.",
        "",
        f"- estimand: {analysis['estimand']}",
        f"- inclusion: {analysis['inclusion']}",
        f"- interval: {analysis['interval']}; {analysis['resamples']} resamples; {analysis['percentile_rule']}",
        f"- generator: {analysis['bootstrap_generator']}; the seed is {protocol['seeds']['bootstrap']}",
        f"- beside it, as checks: {_listed(analysis['checks'])}",
        f"- exploratory ({analysis['exploratory_adjustment']}): {_listed(analysis['exploratory_contrasts'])}",
        "- every other number is exploratory",
    ]


def _decision(rule: Mapping[str, Any]) -> list[str]:
    limit = rule["max_infrastructure_missing_percent"]
    return [
        "## Decision rule",
        "",
        "The first line that applies gives the verdict.",
        "",
        *(f"{number}. {line['verdict']}: {line['when']}" for number, line in enumerate(rule["order"], start=1)),
        "",
        f"smallest_effect_pp is {rule['smallest_effect_pp']}.",
        f"At most {limit} % of the trials may be missing for reasons of infrastructure.",
    ]


def _stop(rule: Mapping[str, Any]) -> list[str]:
    return [
        "## Stop rule",
        "",
        f"Results are shown once {rule['planned_trials_terminal_percent']} % of the planned trials have ended.",
        f"Until then only counts, missingness and tokens are shown. Interim looks: {rule['interim_looks']}.",
        f"Sending stops for: {_listed(rule['reasons_to_stop'])}. Never for: {rule['never']}.",
    ]


def _size(protocol: Mapping[str, Any], facts: FreezeFacts) -> list[str]:
    effect = facts.effect
    shown = "not known" if effect.mde_pp is None else f"{effect.mde_pp:.1f} percentage points"
    return [
        "## What this size can see",
        "",
        f"Smallest difference detectable with 80 % power at 5 %: {shown} ({effect.source}).",
        f"Size: {protocol['counts']['families']} families.",
    ]


def _tried(grids: Sequence[TriedGrid]) -> list[str]:
    return ["## Grids tried before", "", *([_tried_line(grid) for grid in grids] or ["- none found"])]


def _tried_line(grid: TriedGrid) -> str:
    cells = "; ".join(_grid(group, cells) for group, cells in grid.grids.items()) or "hand-made cases"
    begun = "begun" if grid.begun else "never sent"
    return f"- {grid.folder}: {grid.preset} {grid.phase}, {grid.trials} trials, {grid.model}, {begun}; {cells}"


def _identity(hashes: Mapping[str, Any], facts: FreezeFacts) -> list[str]:
    state = f"with changes, diff {facts.diff_sha256}" if facts.dirty else "clean"
    return [
        "## What exactly",
        "",
        f"- git commit {facts.git_commit or 'unknown'}, {state}",
        *(f"- {name}: {hashes[name]}" for name in ("generator", "grader", "families", "cases", "gold")),
        *(f"- {name}: {_pairs(hashes[name])}" for name in ("templates", "notations")),
        f"- versions: {_pairs(dict(sorted(facts.versions.items())))}",
        "",
        _ALIASES,
    ]


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _listed(values: Iterable[object]) -> str:
    return ", ".join(str(value) for value in values)
