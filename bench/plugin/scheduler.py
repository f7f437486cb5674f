"""Blocks to workers under xdist: in schedule order, one block on one worker, a crashed item never again.

xdist 3.8's ``loadscope`` scheduling with four changes, each for a reason seen in its source or by experiment:

* a crashed worker's item is marked done before its unit goes back, else it would be sent (and paid) again, up to nine
  times with two workers (xdist #1371, #1378);
* a unit goes back to the front of the queue, so that blocks keep their order;
* a worker is topped up to two items, because it holds one back until it knows the next, and would park (xdist #1327);
* finished units are dropped and item indices looked up in a map: stock code scans both, which is quadratic (#1212).

It overrides private parts of xdist, which is why ``pyproject.toml`` pins the minor version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # xdist ships no types

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest
    from xdist.remote import Producer  # type: ignore[import-untyped]  # xdist ships no types
    from xdist.workermanage import WorkerController  # type: ignore[import-untyped]  # xdist ships no types

ENOUGH = 2  # items a worker needs in its queue: the one it runs and the one it has to know of


class BlockScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
    """Hands out blocks; items that are no trials are grouped by file, as xdist does."""

    def __init__(self, config: pytest.Config, log: Producer, *, blocks: Mapping[str, int]) -> None:
        config.option.loadscopereorder = False  # stock default: largest unit first
        super().__init__(config, log)
        self._blocks = blocks
        self._index: dict[str, int] = {}

    def schedule(self) -> None:
        """Start handing out; the first time, remember where each item stands in the collection."""
        if self.collection is None:
            first: list[str] = next(iter(self.registered_collections.values()), [])
            self._index = {nodeid: index for index, nodeid in enumerate(first)}
        super().schedule()

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:  # noqa: ARG002 - xdist's signature
        """Note that an item is done; forget its unit when that was the last one."""
        nodeid = self.registered_collections[node][item_index]
        units, scope = self.assigned_work[node], self._split_scope(nodeid)
        units[scope][nodeid] = True
        if all(units[scope].values()):
            del units[scope]
        self._reschedule(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Take a worker out; return the item it was running, which is not handed out again."""
        crashed, left = None, {}
        for scope, unit in self.assigned_work.pop(node).items():
            for nodeid, done in unit.items():
                if not done and crashed is None:
                    crashed = nodeid
                    unit[nodeid] = True
            if not all(unit.values()):
                left[scope] = unit
        for scope in reversed(list(left)):
            self.workqueue[scope] = left[scope]
            self.workqueue.move_to_end(scope, last=False)
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed

    def _split_scope(self, nodeid: str) -> str:
        block = self._blocks.get(nodeid)
        return str(super()._split_scope(nodeid)) if block is None else f"block {block}"

    def _assign_work_unit(self, node: WorkerController) -> None:
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[scope] = unit
        node.send_runtest_some([self._index[nodeid] for nodeid, done in unit.items() if not done])

    def _reschedule(self, node: WorkerController) -> None:
        super()._reschedule(node)
        while self.workqueue and self._hungry(node):
            self._assign_work_unit(node)
        if not self.workqueue and self._hungry(node):
            node.shutdown()

    def _hungry(self, node: WorkerController) -> bool:
        return not node.shutting_down and self._pending_of(self.assigned_work[node]) < ENOUGH
