"""A session on a run: the one module that a caller needs. The parts lie in ``controller`` and ``worker``.

Nothing is defined here.
"""

from __future__ import annotations

from bench.run.controller import ControllerSession, SessionEnd, Surroundings
from bench.run.invocation import Invocation, Refusal
from bench.run.ledger import SessionBrokenError
from bench.run.ledger_records import LedgerDamagedError
from bench.run.prepare import PromptChangedError
from bench.run.worker import WorkerSession

__all__ = [
    "ControllerSession",
    "Invocation",
    "LedgerDamagedError",
    "PromptChangedError",
    "Refusal",
    "SessionBrokenError",
    "SessionEnd",
    "Surroundings",
    "WorkerSession",
]
