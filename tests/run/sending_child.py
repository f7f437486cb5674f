"""A process that sends the pending trials of a run and may kill itself at a named operation of its file system.

    python tests/run/sending_child.py HANDOFF.json WORKER [OPERATION TIMES before|after]

The kill point is an object of this file, handed to the session as its file system; the product has no such branch.
"""

import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.run.fs import OsFs
from bench.run.session import WorkerSession
from bench.run.trial import run_trial


class KillingFs(OsFs):
    """Kills its own process with SIGKILL at the n-th operation whose name begins so."""

    def __init__(self, operation: str, times: int, when: str) -> None:
        self.operation, self.times, self.when = operation, times, when

    def _at(self, name: str, when: str) -> None:
        if name.startswith(self.operation) and self.when == when:
            self.times -= 1
            if self.times == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def open_new(self, path: Path) -> int:
        self._at(f"open {path.name}", "before")
        fd = super().open_new(path)
        self._at(f"open {path.name}", "after")
        return fd

    def replace(self, source: Path, target: Path) -> None:
        self._at(f"replace {target.name}", "before")
        super().replace(source, target)
        self._at(f"replace {target.name}", "after")

    def fsync(self, fd: int) -> None:
        self._at("fsync", "before")
        super().fsync(fd)
        self._at("fsync", "after")

    def fsync_dir(self, path: Path) -> None:
        super().fsync_dir(path)
        self._at(f"flush_dir {path.parent.name}", "after")


def main() -> None:
    handoff, worker, *kill = sys.argv[1:]
    fs = KillingFs(kill[0], int(kill[1]), kill[2]) if kill else OsFs()
    session = WorkerSession.join(json.loads(Path(handoff).read_text()), worker=worker, fs=fs)
    mine = int(os.environ.get("WORKER_SHARE", "0")), int(os.environ.get("WORKER_COUNT", "1"))
    for position in session.pending:
        if session.plan.schedule[position].block % mine[1] == mine[0]:
            run_trial(session.trial(position), session.client, session.ledger, session.store)
    session.close()


if __name__ == "__main__":
    main()
