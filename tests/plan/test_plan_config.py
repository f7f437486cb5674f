"""Preset files: the counts they plan, and one line for everything that is wrong with one."""

import json

import pytest

from bench.plan.config import (
    CONFIG_DIR,
    PRESETS,
    ModelSettings,
    PresetConfig,
    load_local_section,
    load_preset,
)
from bench.plan.draft import draft_plan
from bench.plan.errors import ConfigError
from bench.plan.model_settings import local_model, resolve_model
from tests.planned import tiny_preset

PILOT = json.loads((CONFIG_DIR / "pilot.json").read_text(encoding="utf-8"))


def trials(config, phase):
    """How many trials a preset plans."""
    return len(draft_plan(config, phase).cases) * len(config.syntaxes) * config.replicates


@pytest.mark.parametrize(
    ("preset", "phase", "expected"),
    [
        ("smoke", "p0", 20),
        ("smoke", "p1", 60),
        ("pilot", "p0", 720),
        ("pilot", "p1", 1800),
        ("main", "p0", 5120),
        ("main", "p1", 5120),
        ("hard", "p0", 720),
    ],
)
def test_the_number_of_trials_of_each_preset(preset, phase, expected):
    """Sections 7.2 to 7.4 of the specification."""
    assert expected == trials(load_preset(preset), phase)


def test_main_with_the_other_view_and_with_replicates():
    """include_before_close doubles it to 10,240; four replicates make 20,480."""
    main = load_preset("main")
    assert 10_240 == trials(main.model_copy(update={"include_before_close": True}), "p1")
    assert 20_480 == trials(main.model_copy(update={"replicates": 4}), "p1")


def test_only_main_is_confirmatory():
    """The others may be planned implicitly."""
    assert ["main"] == [name for name in PRESETS if load_preset(name).confirmatory]


def test_every_file_in_the_folder_loads():
    """Presets by name and by path, the local section, and the cases that smoke includes."""
    names = {path.name for path in CONFIG_DIR.glob("*.json")}
    assert {f"{name}.json" for name in PRESETS} | {"local.json", "smoke-cases.json"} == names
    assert load_preset("pilot") == load_preset(str(CONFIG_DIR / "pilot.json"))
    assert 0 == load_local_section().temperature


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"depth": [2]}, "key depth: unknown; remove it or use one of name, confirmatory, "),
        ({"fewShotCount": 8}, "key fewShotCount: unknown; remove it"),
        ({"reading": {**PILOT["reading"], "seeds": 4}}, "key reading.seeds: unknown; remove it"),
        ({"replicates": -1}, "key replicates: Input should be greater than or equal to 1; got -1; correct it"),
        ({"replicates": "2"}, 'key replicates: Input should be a valid integer; got "2"; correct it'),
        ({"replicates": True}, "key replicates: Input should be a valid integer; got true; correct it"),
        ({"few_shot_count": 4}, "key few_shot_count: Input should be 0, 2, 8 or 16; got 4; correct it"),
        ({"lexical": ["natural", "latin"]}, "key lexical[1]: Input should be 'natural' or 'nonce'; got \"latin\""),
        ({"lexical": ["natural", "natural"]}, "key lexical: each entry once; got"),
        ({"tasks": []}, "key tasks: List should have at least 1 item"),
        ({"master_seed": 5}, "key master_seed: Input should be a valid string; got 5"),
        ({"master_seed": "9223372036854775808"}, "key master_seed: a signed 64-bit integer"),
        ({"master_seed": "1.5"}, "key master_seed: String should match pattern"),
        ({"name": "p0"}, "the name p0 is already a marker; choose another"),
        ({"name": "Pilot 2"}, "key name: String should match pattern"),
        ({"writing": None}, "tasks scope_lookup and active_stack need reading, ast_to_source needs writing"),
        (
            {"writing": {**PILOT["writing"], "depths": [16]}},
            "key writing.depths[0]: Input should be less than or equal",
        ),
        ({"reading": {**PILOT["reading"], "depths": [1]}}, "key reading.depths[0]: Input should be greater than or eq"),
        ({"reading": {**PILOT["reading"], "fillers": [-1]}}, "key reading.fillers[0]: Input should be greater than"),
        ({"model": {"reasoning_effort": "huge"}}, "key model.reasoning_effort: Input should be 'none', 'low'"),
        ({"model": {"max_output_tokens_reading": 0}}, "key model.max_output_tokens_reading: Input should be greater"),
        ({"limits": {"max_rpm": -60}}, "key limits.max_rpm: Input should be greater than or equal to 1; got -60"),
        ({"decision_rule": {"smallest_effect_pp": 2.5}}, "key decision_rule.smallest_effect_pp: Input should be a"),
    ],
)
def test_a_defect_is_one_line_that_names_file_key_and_remedy(tmp_path, change, line):
    """What was expected and what came, for every kind of value."""
    document = {key: value for key, value in {**PILOT, **change}.items() if value is not None}
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_preset(str(path))
    assert str(caught.value).startswith(f"{path}: {line}")
    assert "\n" not in str(caught.value)


def test_a_missing_key_is_named(tmp_path):
    """Here: the seed."""
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({key: PILOT[key] for key in PILOT if key != "master_seed"}), encoding="utf-8")
    with pytest.raises(ConfigError, match="key master_seed: missing; add it"):
        load_preset(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected a JSON object, got list"),
        ("{", "expected a JSON object, got text that is none"),
        ('{"name": "a", "name": "b"}', "key name stands twice"),
        ("[" * 100_000, "expected a JSON object"),
    ],
)
def test_a_file_that_is_no_object_is_refused(tmp_path, text, message):
    """Other values, broken text, a repeated key, nesting beyond reason."""
    path = tmp_path / "mine.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_preset(str(path))


@pytest.mark.parametrize("name", ["local", "smok", "../smoke", "", "a" * 500, "smoke-cases"])
def test_an_unknown_preset_is_refused_with_the_known_ones(name):
    """No path is built from a name that is none."""
    with pytest.raises(ConfigError, match=r"expected one of smoke, pilot, main, hard, .* or the path of a \.json file"):
        load_preset(name)


def test_a_preset_file_that_is_not_there(tmp_path):
    """The path and the reason."""
    with pytest.raises(ConfigError, match=r"none\.json: cannot be read \(No such file or directory\)"):
        load_preset(str(tmp_path / "none.json"))


def test_p0_of_a_preset_without_the_lookup_task_is_refused():
    """There would be nothing to plan."""
    config = tiny_preset(tasks=["ast_to_source"], reading=None)
    with pytest.raises(ConfigError, match="key tasks: phase p0 plans scope_lookup only"):
        draft_plan(config, "p0")


def test_a_grid_that_asks_for_more_structures_than_there_are_is_refused():
    """Depth 2 has some hundreds of outer structures in a class."""
    config = tiny_preset(
        tasks=["scope_lookup"], writing=None, reading={"depths": [2], "fillers": [0], "seeds_per_cell": 1000}
    )
    with pytest.raises(ConfigError, match=r"no free outer structure .* ask for fewer seeds per cell"):
        draft_plan(config, "p0")


@pytest.mark.parametrize(
    ("flag", "environment", "preset", "expected"),
    [
        ("flagged", {"OPENAI_MODEL": "from-env"}, "from-preset", "flagged"),
        (None, {"OPENAI_MODEL": "from-env"}, "from-preset", "from-env"),
        (None, {"OPENAI_MODEL": ""}, "from-preset", "from-preset"),
        (None, {}, "from-preset", "from-preset"),
        (None, {}, None, "gpt-5.6-terra"),
    ],
)
def test_where_the_model_comes_from(flag, environment, preset, expected):
    """Flag, environment, preset, default, in this order."""
    model = ModelSettings() if preset is None else ModelSettings(model=preset)
    config = PresetConfig.model_validate({**tiny_preset().model_dump(), "model": model})
    assert expected == resolve_model(config, model=flag, environment=environment).model


def test_the_base_url_comes_from_the_environment_or_the_preset():
    """Without a slash at its end, so that one endpoint has one spelling."""
    config = tiny_preset()
    found = resolve_model(config, model=None, environment={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1/"})
    assert "http://127.0.0.1:9/v1" == found.base_url
    assert "https://api.openai.com/v1" == resolve_model(config, model=None, environment={}).base_url


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://files.example/v1", "scheme must be https or http"),
        ("api.example/v1", "scheme must be https or http"),
        ("https://me:word@api.example/v1", "user information"),
        ("https://api.example/v1?key=word", "query"),
        ("https:///v1", "no host"),
    ],
)
def test_a_base_url_that_nothing_can_be_sent_to_is_refused_when_planning(url, words):
    """Not only hundreds of planned prompts later; and the message repeats nothing of a URL that may hold a secret."""
    with pytest.raises(ConfigError, match=words) as caught:
        resolve_model(tiny_preset(), model=None, environment={"OPENAI_BASE_URL": url})
    assert "word@" not in str(caught.value)
    assert "key=" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "two words", "line\nbreak"])
def test_a_model_name_that_is_none_is_refused(name):
    """Blank, or with blanks inside."""
    with pytest.raises(ConfigError, match="model: expected text without blanks"):
        resolve_model(tiny_preset(), model=name, environment={})


def test_a_local_model_takes_the_place_of_the_presets_settings():
    """Its section's limits, no effort, and the facts that are handed in."""
    settings = local_model(load_local_section(), model="local/tiny", facts={"file_sha256": "0" * 64})
    assert ("local/tiny", "embedded", None) == (settings.model, settings.base_url, settings.reasoning_effort)
    assert (256, 2048) == (settings.max_output_tokens_reading, settings.max_output_tokens_generation)
    assert {"file_sha256": "0" * 64} == settings.local
