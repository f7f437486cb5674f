"""What a caller asks of one session, and what a session refuses before it sends anything. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bench.run.ledger_records import InvocationOpened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.plan.config import Limits

LIVE, LOCAL, MOCK = "live", "local", "mock-"


class Refusal(Exception):  # noqa: N818 - not an error of the program: the one line that says why nothing is sent (exit 4)
    """A session that must not begin. The message says what is wrong and the remedy."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One start of a session. ``None`` caps are off, which only a mock or local model may be; see `check`.

    ``backend`` is ``live``, ``local`` or ``mock-<mode>``. ``max_rpm`` and ``max_tpm`` override the plan's limits.
    """

    backend: str
    max_generation_calls: int | None = None
    max_http_attempts: int | None = None
    local_token_cap: int | None = None
    max_rpm: int | None = None
    max_tpm: int | None = None
    retry_ambiguous: bool = False
    retry_failed: bool = False
    soft_budget: bool = False
    accept_carryover: bool = False
    protocol_hash: str | None = None
    purpose: Literal["run", "count"] = "run"

    def check(self) -> None:
        """Refuse an unknown backend, a negative or zero number, and a live session without its caps.

        One that only counts generates nothing: it needs no cap but that of HTTP attempts.

        Raises:
            Refusal: the first of these that was found.
        """
        if self.backend not in (LIVE, LOCAL) and not self.backend.startswith(MOCK):
            raise Refusal(f"backend {self.backend!r}: expected live, local or mock-<mode>")
        caps = {
            "--max-generation-calls": self.max_generation_calls,
            "--max-http-attempts": self.max_http_attempts,
            "--local-token-cap": self.local_token_cap,
        }
        for name, value in {**caps, "--max-rpm": self.max_rpm, "--max-tpm": self.max_tpm}.items():
            if value is not None and value < 1:
                raise Refusal(f"{name} {value}: expected a number above 0")
        needed = caps if self.purpose == "run" else ("--max-http-attempts",)
        missing = [name for name in needed if caps[name] is None]
        if self.backend == LIVE and missing:
            raise Refusal(f"a live session needs {', '.join(missing)}")

    def opened(self, identity: str, *, boot: str, limits: Limits) -> InvocationOpened:
        """The ledger record of this invocation. Rate limits are the plan's for a live endpoint, else off."""
        live = self.backend == LIVE
        return InvocationOpened(
            invocation=identity,
            backend=self.backend,
            boot=boot,
            max_generation_calls=self.max_generation_calls,
            max_http_attempts=self.max_http_attempts,
            max_rpm=self.max_rpm or (limits.max_rpm if live else None),
            max_tpm=self.max_tpm or (limits.max_tpm if live else None),
            soft_budget=self.soft_budget,
            accept_carryover=self.accept_carryover,
            retry_ambiguous=self.retry_ambiguous,
            retry_failed=self.retry_failed,
        )


@dataclass(frozen=True, slots=True)
class Handoff:
    """What the controller tells its workers: they never decide which trials are pending."""

    run_dir: str
    base_url: str
    opened: InvocationOpened
    pending: tuple[int, ...]

    def as_builtins(self) -> dict[str, Any]:
        """Plain values, the only ones that may cross between xdist processes."""
        opened = {name: getattr(self.opened, name) for name in InvocationOpened.__slots__ if name != "kind"}
        return {"run_dir": self.run_dir, "base_url": self.base_url, "opened": opened, "pending": list(self.pending)}

    @classmethod
    def from_builtins(cls, values: Mapping[str, Any]) -> Handoff:
        """The value that `as_builtins` was made from."""
        return cls(
            run_dir=values["run_dir"],
            base_url=values["base_url"],
            opened=InvocationOpened(**values["opened"]),
            pending=tuple(values["pending"]),
        )
