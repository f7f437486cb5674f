"""A plan on disk: the same bytes for the same config, refused by name when a byte changes, lean to hold."""

import json
import re
import subprocess
import sys

import pytest

from bench.data.gold import read_gold
from bench.plan.errors import ConfigError, PlanError
from bench.plan.manifest import HASHED_FILES, MANIFEST_FILE
from bench.plan.plan_files import Plan
from bench.plan.planner import plan_name, write_plan
from bench.prompt.build import build_request, request_sha256
from bench.wire.hashing import hash_document, hash_file
from tests.planned import GRADER, plan_into, read_rows, reseal, tiny_preset, write_rows


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One tiny plan that no test changes."""
    out = tmp_path_factory.mktemp("plans") / "tiny"
    plan_into(out, tiny_preset())
    return out


@pytest.fixture
def mine(tmp_path):
    """A tiny plan of one's own."""
    plan_into(tmp_path / "run", tiny_preset(tasks=["scope_lookup"], writing=None))
    return tmp_path / "run"


def test_the_same_config_gives_the_same_bytes(made, tmp_path):
    """All plan files; the manifest differs in its time alone."""
    config = tiny_preset()
    write_plan(
        config,
        phase="p1",
        model=config.model,
        out=tmp_path / "b",
        grader_hash=GRADER,
        created_at="2027-01-01T00:00:00Z",
    )
    assert [hash_file(made / name) for name in HASHED_FILES] == [
        hash_file(tmp_path / "b" / name) for name in HASHED_FILES
    ]
    manifests = [json.loads((folder / MANIFEST_FILE).read_bytes()) for folder in (made, tmp_path / "b")]
    times = [manifest.pop("created_at") for manifest in manifests]
    assert manifests[0] == manifests[1]
    assert times[0] != times[1]


def test_what_a_plan_counts(made):
    """Families, cases, blocks and trials as the files have them."""
    counts = Plan.open(made).typed_protocol.counts
    rows = [len(read_rows(made, f"{name}.jsonl")) for name in ("families", "cases", "schedule")]
    assert [4, 20, 100] == rows == [counts.families, counts.cases, counts.trials]
    assert 20 == counts.blocks == len(read_gold(made))


def test_every_request_can_be_built_again_from_the_files(made):
    """And has the hash that its row holds."""
    plan = Plan.open(made)
    assert [row.request_sha256 for row in plan.schedule] == [
        request_sha256(build_request(plan, row)) for row in plan.schedule
    ]


def test_trial_ids_are_unique_and_hang_on_the_protocol(made, tmp_path):
    """Another grader, hence another protocol, gives other ids for the same prompts."""
    plan_into(tmp_path / "b", tiny_preset(), grader="f" * 64)
    here, there = Plan.open(made).schedule, Plan.open(tmp_path / "b").schedule
    assert 100 == len({row.trial_id for row in here})
    assert [row.request_sha256 for row in here] == [row.request_sha256 for row in there]
    assert not {row.trial_id for row in here} & {row.trial_id for row in there}


def test_replicates_share_the_request_and_not_the_id(tmp_path):
    """A replicate is a trial of its own."""
    plan_into(tmp_path / "run", tiny_preset(tasks=["scope_lookup"], writing=None, replicates=2))
    rows = Plan.open(tmp_path / "run").schedule
    pairs: dict[tuple, list] = {}
    for row in rows:
        pairs.setdefault((row.case_id, row.syntax), []).append(row)
    assert {2} == {len({row.trial_id for row in pair}) for pair in pairs.values()}
    assert {1} == {len({row.request_sha256 for row in pair}) for pair in pairs.values()}


def test_rows_stand_in_the_order_of_sending(made):
    """Positions count up, blocks count up, slugs are unique within a task."""
    rows = Plan.open(made).schedule
    assert list(range(100)) == [row.position for row in rows]
    assert [number // 5 for number in range(100)] == [row.block for row in rows]
    assert 100 == len({(row.task, row.slug) for row in rows})


def test_the_protocol_hash_is_that_of_the_document_and_the_ids_hold_no_decimals(made):
    """Canonical JSON refuses decimals, so hashing proves that there are none."""
    document = json.loads((made / "protocol.json").read_bytes())
    assert hash_document(document) == Plan.open(made).protocol_hash
    assert all(re.fullmatch(r"-?[0-9]+", seed) for seed in document["seeds"].values())


def test_settings_survive_the_protocol(tmp_path):
    """A temperature, an effort that is null and local facts come back as they went in."""
    config = tiny_preset(tasks=["scope_lookup"], writing=None)
    model = config.model.model_copy(
        update={"temperature": 0.7, "reasoning_effort": None, "local": {"stop": ["\n\n"], "context": 16384}}
    )
    config = config.model_copy(update={"model": model})
    write_plan(config, phase="p0", model=model, out=tmp_path / "run", grader_hash=GRADER, created_at="2027-01-01")
    plan = Plan.open(tmp_path / "run")
    assert model == plan.model
    assert config == plan.typed_protocol.preset_config()


def test_cases_and_families_are_fetched_by_id(made):
    """In any order, and the prompt's measures with them; an unknown id is a KeyError."""
    plan = Plan.open(made)
    for case_id in reversed(plan.case_ids()):
        case = plan.case(case_id)
        assert case_id == case.case_id
        assert case.family_id == plan.family(case.family_id).family_id
        assert set(plan.measures(case_id)) == set(plan.protocol["config"]["syntaxes"])
    with pytest.raises(KeyError):
        plan.case("nobody")


@pytest.mark.parametrize("name", HASHED_FILES)
def test_one_changed_byte_is_refused_by_name(mine, name):
    """At open and when asked again later."""
    plan = Plan.open(mine)
    data = bytearray((mine / name).read_bytes())
    data[len(data) // 2] ^= 1
    (mine / name).write_bytes(data)
    for attempt in (lambda: Plan.open(mine), plan.verify_hashes):
        with pytest.raises(PlanError, match=rf"{name}: not the file that was planned; restore it or make a new plan"):
            attempt()


@pytest.mark.parametrize("name", HASHED_FILES)
def test_a_missing_file_is_refused_by_name(mine, name):
    """As a changed one."""
    (mine / name).unlink()
    with pytest.raises(PlanError, match=name):
        Plan.open(mine)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no plan here"),
        ("{", "manifest.json: : Invalid JSON"),
        ("{}", "manifest.json: schema: Field required"),
        ('{"schema": "other"}', "manifest.json: schema: Input should be"),
    ],
)
def test_a_foreign_folder_is_refused_in_one_line(tmp_path, text, message):
    """No manifest, or one that is none."""
    if text is not None:
        (tmp_path / MANIFEST_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match=message) as caught:
        Plan.open(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"), [("position", "0"), ("syntax", "pascal"), ("surplus", 1), ("trial_id", None), ("depth", 2.5)]
)
def test_a_misshapen_schedule_row_is_refused_even_when_hashes_agree(mine, key, value):
    """Wrong type, unknown word, unknown key, null."""
    rows = read_rows(mine, "schedule.jsonl")
    rows[3][key] = value
    write_rows(mine, "schedule.jsonl", rows)
    with pytest.raises(PlanError, match=r"ScheduleRow: .*restore the run directory or make a new plan"):
        Plan.open(mine)


def test_an_edited_protocol_with_an_old_hash_is_refused(mine):
    """The manifest's file hashes agree, its protocol hash does not."""
    document = json.loads((mine / "protocol.json").read_bytes())
    document["decision_rule"]["smallest_effect_pp"] = 1
    (mine / "protocol.json").write_text(json.dumps(document), encoding="utf-8")
    manifest = json.loads((mine / MANIFEST_FILE).read_bytes())
    old = manifest["protocol_hash"]
    reseal(mine)
    manifest = {**json.loads((mine / MANIFEST_FILE).read_bytes()), "protocol_hash": old}
    (mine / MANIFEST_FILE).write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(PlanError, match=r"protocol\.json: not the file that was planned"):
        Plan.open(mine)


def test_a_folder_with_something_in_it_is_not_written_to(mine):
    """Nothing is overwritten; a file in the folder's place is refused too."""
    before = hash_file(mine / "schedule.jsonl")
    with pytest.raises(PlanError, match="expected an empty folder"):
        plan_into(mine, tiny_preset())
    assert before == hash_file(mine / "schedule.jsonl")
    with pytest.raises(PlanError, match="expected a folder for the plan, got a file"):
        plan_into(mine / "schedule.jsonl", tiny_preset())


def test_code_that_answers_differently_is_refused_by_name(mine, monkeypatch):
    """Grader, generator, prompt text and a notation, each by its name."""
    plan = Plan.open(mine)
    plan.verify_code(GRADER)
    with pytest.raises(PlanError, match="planned with another grader; use the version it was planned with"):
        plan.verify_code("e" * 64)
    with monkeypatch.context() as patch:
        patch.setattr("bench.plan.protocol.generator_hash", lambda: "e" * 64)
        with pytest.raises(PlanError, match="another generator"):
            plan.verify_code(GRADER)
    with monkeypatch.context() as patch:
        patch.setattr("bench.prompt.episode.PROMPT_VERSION", "2")
        with pytest.raises(PlanError, match="another template scope_lookup"):
            plan.verify_code(GRADER)
    with monkeypatch.context() as patch:
        patch.setattr("bench.plan.protocol.notation_hash", lambda syntax: "e" * 64 if syntax == "braces" else "")
        with pytest.raises(PlanError, match="another notation braces"):
            plan.verify_code(GRADER)


def test_the_name_of_an_implicit_plan():
    """Preset, phase, backend and the first 8 digits of the protocol hash."""
    assert "pilot-p0-mock-oracle-01234567" == plan_name("pilot", "p0", "mock-oracle", "0123456789abcdef")


def test_a_failed_draw_leaves_no_plan(tmp_path):
    """The folder holds no manifest, so nobody takes it for a plan."""
    config = tiny_preset(
        tasks=["scope_lookup"], writing=None, reading={"depths": [2], "fillers": [0], "seeds_per_cell": 1000}
    )
    with pytest.raises(ConfigError):
        plan_into(tmp_path / "run", config)
    assert [] == list((tmp_path / "run").iterdir())


LEAN = """
import sys
from pathlib import Path
from bench.plan.plan_files import Plan
from bench.prompt.build import build_request
plan = Plan.open(Path(sys.argv[1]), verify=False)
build_request(plan, plan.schedule[0])
heavy = {"numpy", "pandas", "scipy", "matplotlib", "httpx", "bench.data.gold", "bench.audit"} & set(sys.modules)
print(sorted(heavy))
"""


def test_a_sending_worker_loads_nothing_heavy_and_no_gold(made):
    """Opening a plan and building a request imports no numeric library, no transport, no gold reader, no audit."""
    done = subprocess.run([sys.executable, "-c", LEAN, str(made)], capture_output=True, text=True, check=True)
    assert "[]\n" == done.stdout


PLANNING = """
import sys
from pathlib import Path
import socket
def refuse(*args, **kwargs): raise AssertionError("planning opened a socket")
socket.socket = refuse
from tests.planned import plan_into
plan_into(Path(sys.argv[1]), "smoke", "p0")
print("httpx" in sys.modules)
"""


def test_planning_opens_no_connection(tmp_path):
    """Nor does it even load a transport."""
    done = subprocess.run(
        [sys.executable, "-c", PLANNING, str(tmp_path / "run")], capture_output=True, text=True, check=True
    )
    assert "False\n" == done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "phase", "trials"), [("main", "p1", 5120), ("hard", "p1", 1440)])
def test_the_large_presets_can_be_planned(tmp_path, preset, phase, trials):
    """5,120 trials of main; depth 32 and 2,048 nops of hard."""
    assert trials == plan_into(tmp_path / "run", preset, phase).trials
