"""The block scheduler against simulated workers that behave as xdist's do: they hold one item back."""

import random
from collections import deque
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.plugin.scheduler import BlockScheduling


class Worker:
    """A worker's queue as xdist keeps it: an item runs only once its successor, or the shutdown, is known."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.queue: deque[int] = deque()
        self.shutting_down = False
        self.ran: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        assert not self.shutting_down
        self.queue.extend(indices)

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def can_run(self) -> bool:
        return len(self.queue) >= 2 or (bool(self.queue) and self.shutting_down)


def config_of(workers: int) -> SimpleNamespace:
    return SimpleNamespace(getvalue=lambda _name: ["popen"] * workers, option=SimpleNamespace(loadscopereorder=True))


def quiet(*_args: object) -> None:
    """xdist's log, silenced."""


quiet.loadscopesched = quiet


def started(items: list[str], *, blocks: dict[str, int], workers: int) -> tuple[BlockScheduling, list[Worker]]:
    scheduling = BlockScheduling(config_of(workers), quiet, blocks=blocks)
    nodes = [Worker(f"gw{number}") for number in range(workers)]
    for node in nodes:
        scheduling.add_node(node)
    for node in nodes:
        scheduling.add_node_collection(node, items)
    scheduling.schedule()
    return scheduling, nodes


def run_to_the_end(
    scheduling: BlockScheduling, nodes: list[Worker], dice: random.Random, crashes: set[int]
) -> list[str]:
    """Let workers take turns; a worker whose next item is in ``crashes`` dies on it and is replaced. The crashed."""
    crashed, replacements = [], 0
    while any(node.can_run for node in nodes):
        node = dice.choice([node for node in nodes if node.can_run])
        index = node.queue.popleft()
        node.ran.append(index)
        assert len(node.ran) <= len(scheduling.collection), "an item is run again and again"
        if index not in crashes:
            scheduling.mark_test_complete(node, index)
            continue
        nodes.remove(node)
        crashed.append(scheduling.remove_node(node))
        assert len(crashed) <= len(crashes), "an item that killed a worker is run again"
        replacements += 1
        fresh = Worker(f"gw{100 + replacements}")
        nodes.append(fresh)
        scheduling.add_node(fresh)
        scheduling.add_node_collection(fresh, scheduling.collection)
        scheduling.schedule()
        PAST.append(node)
    return crashed


PAST: list[Worker] = []  # dead workers of the running example


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=7),
    workers=st.integers(1, 4),
    seed=st.integers(0, 2**32),
    deaths=st.integers(0, 3),
)
@settings(max_examples=150, deadline=None)
def test_every_item_runs_once_in_order_whoever_dies(sizes: list[int], workers: int, seed: int, deaths: int) -> None:
    """Whatever crashes, every item runs exactly once, a crashed one never again, and a block keeps its order."""
    PAST.clear()
    names = [f"evals/t.py::t[{block}-{place}]" for block, size in enumerate(sizes) for place in range(size)]
    blocks = {name: int(name.split("[")[1].split("-")[0]) for name in names}
    dice = random.Random(seed)
    crashes = set(dice.sample(range(len(names)), min(deaths, len(names))))
    scheduling, nodes = started(names, blocks=blocks, workers=workers)
    crashed = run_to_the_end(scheduling, nodes, dice, crashes)
    ran = [index for node in [*nodes, *PAST] for index in node.ran]
    assert list(range(len(names))) == sorted(ran)
    assert {names[index] for index in crashes} == set(crashed)
    for node in [*nodes, *PAST]:
        for block in set(blocks.values()):
            within = [index for index in node.ran if blocks[names[index]] == block]
            assert sorted(within) == within
    if not crashes:
        assert all(sorted(node.ran) == node.ran for node in nodes)


def test_blocks_leave_in_schedule_order_and_whole() -> None:
    """A large late block does not overtake, and no block is split over two workers."""
    names = [f"evals/t.py::t[{name}]" for name in ("a1", "b1", "b2", "c1", "c2", "c3", "c4")]
    blocks = {name: "abc".index(name.split("[")[1][0]) for name in names}
    scheduling, nodes = started(names, blocks=blocks, workers=2)
    assert [[0, 3, 4, 5, 6], [1, 2]] == [list(node.queue) for node in nodes]
    assert not scheduling.workqueue


def test_finished_units_are_forgotten() -> None:
    """What is done is dropped at once, so that no completion scans all that went before."""
    names = [f"evals/t.py::t[{number}]" for number in range(400)]
    blocks = {name: number // 5 for number, name in enumerate(names)}
    scheduling, nodes = started(names, blocks=blocks, workers=2)
    largest = 0
    while any(node.can_run for node in nodes):
        node = next(node for node in nodes if node.can_run)
        scheduling.mark_test_complete(node, node.queue.popleft())
        largest = max([largest, *(len(units) for units in scheduling.assigned_work.values())])
    assert largest <= 3
    assert not any(scheduling.assigned_work.values())


def test_other_tests_are_grouped_by_file() -> None:
    """An item that is no trial keeps xdist's grouping."""
    names = ["evals/t.py::t[x]", "tests/a.py::test_1", "tests/a.py::test_2", "tests/b.py::test_3"]
    scheduling, nodes = started(names, blocks={names[0]: 0}, workers=1)
    assert list(range(4)) == list(nodes[0].queue) + [
        scheduling.collection.index(name) for unit in scheduling.workqueue.values() for name in unit
    ]


@pytest.mark.parametrize("workers", [1, 3])
def test_no_items_is_no_error(workers: int) -> None:
    """An empty collection (all terminal) ends the session instead of hanging it."""
    scheduling, _nodes = started([], blocks={}, workers=workers)
    assert scheduling.tests_finished
