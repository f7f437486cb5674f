"""The lines of ``usage-ledger.jsonl``: their shapes, and one line to and from bytes.

No state and no files here. A line is ``{"crc":"xxxxxxxx","seq":…,"at":…,"mono_ms":…,"record":{…}}``; the checksum is
the CRC-32 of the line without its ``crc`` field, so that a changed byte anywhere shows.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Discriminator, TypeAdapter, ValidationError

Purpose = Literal["count", "generate"]
StopReason = Literal["cap", "quota", "key", "parameter", "interrupt", "disk", "input_above_count", "server"]
SettleReason = Literal["usage", "rejected", "stopped", "not_sent", "counted", "count_failed"]
UnresolvedReason = Literal["server_error", "usage_missing", "ambiguous"]

_OWN = ConfigDict(extra="forbid", strict=True)
_CRC_HEAD = b'{"crc":"'
_CRC_END = len(_CRC_HEAD) + 8


class LedgerDamagedError(Exception):
    """The ledger says something impossible, or holds a broken line that is not its torn end. Everything stops."""


@dataclass(frozen=True, slots=True)
class InvocationOpened:
    """A session began; every worker of an earlier one is gone. ``None`` limits are off."""

    __pydantic_config__ = _OWN
    invocation: str
    backend: str
    boot: str
    max_generation_calls: int | None
    max_http_attempts: int | None
    max_rpm: int | None
    max_tpm: int | None
    soft_budget: bool
    accept_carryover: bool
    retry_ambiguous: bool
    retry_failed: bool
    kind: Literal["invocation"] = "invocation"


@dataclass(frozen=True, slots=True)
class WindowOpened:
    """A budget window (UTC date) began with this token cap."""

    __pydantic_config__ = _OWN
    date: str
    cap: int | None
    kind: Literal["window"] = "window"


@dataclass(frozen=True, slots=True)
class CapChanged:
    """The token cap of the open window was set anew."""

    __pydantic_config__ = _OWN
    old: int | None
    new: int | None
    kind: Literal["cap"] = "cap"


@dataclass(frozen=True, slots=True)
class Share:
    """What a block sets aside for one of its trials."""

    __pydantic_config__ = _OWN
    trial: str
    calls: int
    attempts: int
    tokens: int


@dataclass(frozen=True, slots=True)
class BlockSetAside:
    """Budget set aside for the pending trials of a block; no shares: the block ended. Replaces an earlier one."""

    __pydantic_config__ = _OWN
    block: int
    worker: str
    shares: tuple[Share, ...]
    kind: Literal["block"] = "block"


@dataclass(frozen=True, slots=True)
class Reserve:
    """An attempt of a trial may be made: ``tokens`` stay charged until it is settled."""

    __pydantic_config__ = _OWN
    key: str
    trial: str
    series: int
    attempt: int
    purpose: Purpose
    tokens: int
    counted: int | None
    block: int | None
    worker: str
    kind: Literal["reserve"] = "reserve"


@dataclass(frozen=True, slots=True)
class Intent:
    """The next thing this worker does is write to the socket."""

    __pydantic_config__ = _OWN
    key: str
    kind: Literal["intent"] = "intent"


@dataclass(frozen=True, slots=True)
class Settle:
    """Usage is known: ``tokens`` take the place of the reservation."""

    __pydantic_config__ = _OWN
    key: str
    tokens: int
    reason: SettleReason
    kind: Literal["settle"] = "settle"


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Outcome or usage unknown: the reservation stays charged."""

    __pydantic_config__ = _OWN
    key: str
    reason: UnresolvedReason
    kind: Literal["unresolved"] = "unresolved"


@dataclass(frozen=True, slots=True)
class Resolve:
    """A person decided about all open reservations of a trial: ``tokens``, or None for as reserved."""

    __pydantic_config__ = _OWN
    trial: str
    tokens: int | None
    kind: Literal["resolve"] = "resolve"


@dataclass(frozen=True, slots=True)
class WorkerGone:
    """A worker died: what it had sent is ambiguous, what it had only reserved or set aside returns."""

    __pydantic_config__ = _OWN
    worker: str
    kind: Literal["gone"] = "gone"


@dataclass(frozen=True, slots=True)
class Pause:
    """Nobody sends before ``until_mono_ms`` (monotonic clock of this boot)."""

    __pydantic_config__ = _OWN
    until_mono_ms: int
    seconds: float
    trial: str
    reason: str
    kind: Literal["pause"] = "pause"


@dataclass(frozen=True, slots=True)
class Stop:
    """Nobody sends any more (``all``), or no further block is begun (``blocks``). Holds for its invocation only."""

    __pydantic_config__ = _OWN
    invocation: str
    reason: StopReason
    scope: Literal["all", "blocks"]
    detail: str
    kind: Literal["stop"] = "stop"


Record = (
    InvocationOpened
    | WindowOpened
    | CapChanged
    | BlockSetAside
    | Reserve
    | Intent
    | Settle
    | Unresolved
    | Resolve
    | WorkerGone
    | Pause
    | Stop
)


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One line: its number (from 1, without gaps), when it was written, and what it says."""

    __pydantic_config__ = _OWN
    seq: int
    at: str
    mono_ms: int
    record: Annotated[Record, Discriminator("kind")]


_LINE = TypeAdapter(LedgerLine)


def encode_line(line: LedgerLine) -> bytes:
    """The line's bytes, newline included."""
    body = _LINE.dump_json(line)
    return b'%s%08x",%s\n' % (_CRC_HEAD, zlib.crc32(body), body[1:])


def decode_line(data: bytes) -> LedgerLine:
    """The line that these bytes (without newline) hold.

    Raises:
        LedgerDamagedError: checksum or shape is wrong.
    """
    body = b"{" + data[_CRC_END + 2 :]
    if not data.startswith(_CRC_HEAD) or data[_CRC_END : _CRC_END + 2] != b'",':
        raise LedgerDamagedError("not a ledger line")
    if data[len(_CRC_HEAD) : _CRC_END] != b"%08x" % zlib.crc32(body):
        raise LedgerDamagedError("checksum does not match")
    try:
        return _LINE.validate_json(body)
    except ValidationError as error:
        raise LedgerDamagedError(f"unknown record: {error.errors()[0]['msg']}") from error


def attempt_key(*, run: str, trial: str, purpose: Purpose, attempt: int, request_sha256: str) -> str:
    """Hash of run, trial, purpose, attempt number and request bytes: the name of one attempt in the ledger."""
    return hashlib.sha256("\n".join((run, trial, purpose, str(attempt), request_sha256)).encode()).hexdigest()
