"""What goes into the trial runner and what comes out of it. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from bench.llm.model import DecodeError, LlmRequest, RawResponse, TransportError
    from bench.plan.records import ScheduleRow
    from bench.run.ledger_records import Share
    from bench.run.records import Ending

TrialState = Literal["terminal", "pending", "ambiguous", "not_dispatched"]


class SendingClient(Protocol):
    """The part of ``ResponsesClient`` that a trial needs: one attempt, not decoded."""

    def send(self, path: str, body: bytes) -> RawResponse | TransportError | DecodeError:
        """One HTTP attempt."""
        ...


@dataclass(frozen=True, slots=True)
class Trial:
    """One planned trial, ready to be sent. ``shares`` are those of its whole block.

    ``counted`` is None if unknown, and only then is there a ``count_body``.
    """

    row: ScheduleRow
    request: LlmRequest
    body: bytes = field(repr=False)
    count_body: bytes = field(repr=False)
    counted: int | None
    shares: tuple[Share, ...] = field(repr=False)

    @property
    def trial_id(self) -> str:
        """The key of everything that is stored about it."""
        return self.row.trial_id


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What became of a trial, in plain values that any report can carry. ``reason`` is ASCII."""

    trial_id: str
    state: TrialState
    ending: Ending | None = None
    reason: str | None = None
