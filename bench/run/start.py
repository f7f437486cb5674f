"""What must hold before a session may begin, and the ledger records that begin it. Refuses; never sends.

Each check raises ``Refusal`` with one line: what is wrong and the remedy.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.llm.credentials import KEY, CredentialError, Credentials
from bench.llm.endpoint import EndpointError, check_base_url
from bench.plan.errors import PlanError
from bench.plan.freeze import require_frozen
from bench.plan.plan_files import Plan
from bench.run.invocation import LIVE, LOCAL, MOCK, Refusal
from bench.run.ledger import Decision
from bench.run.ledger_records import CapChanged, WindowOpened
from bench.run.records_io import TERMINAL, TRIALS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.run.clock import Instant
    from bench.run.events import EventLog
    from bench.run.invocation import Invocation
    from bench.run.ledger import Ledger
    from bench.run.ledger_fold import LedgerState
    from bench.run.ledger_records import InvocationOpened, Record

MOCK_URL = "https://mock.invalid/v1"
EMBEDDED = "embedded"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def open_plan(run_dir: Path) -> Plan:
    """The plan, every file of it hashed."""
    try:
        return Plan.open(run_dir, verify=True)
    except PlanError as error:
        raise Refusal(str(error)) from None


def check_plan(plan: Plan, *, require_audit: Callable[[Path], object], grader_hash: str | None) -> None:
    """An audited plan, made with the code that is running; ``grader_hash`` None leaves the code unchecked."""
    try:
        require_audit(plan.run_dir)
        if grader_hash is not None:
            plan.verify_code(grader_hash)
    except PlanError as error:
        raise Refusal(str(error)) from None


def check_frozen(plan: Plan, invocation: Invocation) -> None:
    """A confirmatory run is sent only as it was frozen, and only to somebody who names the frozen hash.

    A rehearsal with the mock needs no hash; one that is given is checked all the same, whatever the run.
    """
    rehearsal = invocation.backend.startswith(MOCK)
    if invocation.protocol_hash is None and (rehearsal or not plan.typed_protocol.confirmatory):
        return
    try:
        frozen = require_frozen(plan.run_dir, invocation.protocol_hash)
    except PlanError as error:
        raise Refusal(str(error)) from None
    if frozen.synthetic_mock and not rehearsal:
        raise Refusal(
            f"{plan.run_dir}: frozen on a mock's capabilities, which admits --mock only; run a real preflight"
        )


def endpoint_of(plan: Plan, invocation: Invocation, *, base_url: str | None, env: Mapping[str, str]) -> str:
    """Where this session sends to. A live one goes where the plan says, with a key, and nowhere else."""
    planned = plan.model.base_url
    if invocation.backend.startswith(MOCK):
        return base_url or MOCK_URL
    if (planned == EMBEDDED) != (invocation.backend == LOCAL):
        remedy = "use --local" if planned == EMBEDDED else "plan it with --local, or use --execute"
        raise Refusal(f"{plan.run_dir}: planned for model {plan.model.model} at {planned}; {remedy}")
    if invocation.backend == LOCAL:
        if base_url is None:
            raise Refusal("a local session needs the URL of the server that was started for it")
        return base_url
    for name, value in (("OPENAI_BASE_URL", planned), ("OPENAI_MODEL", plan.model.model)):
        if env.get(name, "").rstrip("/") not in ("", value.rstrip("/")):
            raise Refusal(f"{name} is {env[name]!r}, the run was planned for {value!r}; unset it or make a new plan")
    check_credentials(planned, env)
    return planned


def check_credentials(base_url: str, env: Mapping[str, str]) -> None:
    """A key that may travel to this URL."""
    try:
        credentials = Credentials.from_environment(env)
        check_base_url(base_url, credentials=credentials)
    except (CredentialError, EndpointError) as error:
        raise Refusal(str(error)) from None
    if credentials.api_key is None:
        raise Refusal(f"{KEY} is not set; set it in the environment, never on the command line")


def check_backend(state: LedgerState, backend: str) -> None:
    """The first dispatch binds a run to its backend: answers of two kinds are never mixed."""
    if state.bound_backend not in (None, backend):
        raise Refusal(
            f"this run was sent to backend {state.bound_backend}, not {backend}; make a new plan for {backend}"
        )


def check_ledger(state: LedgerState, ledger: Path) -> None:
    """A ledger that has seen nothing sent, beside trials that have ended, is not the one they were paid from."""
    ended = state.bound_backend is None and next((ledger.parent / TRIALS).glob(f"*/{TERMINAL}"), None)
    if ended:
        raise Refusal(
            f"{ledger}: says that nothing was sent, but trials have ended; restore it, for caps and backend stand in it"
        )


def begin(ledger: Ledger, opened: InvocationOpened, *, invocation: Invocation, events: EventLog) -> None:
    """Append the records that begin an invocation, and tell the events of a cap that was changed within a day.

    A session that only counts leaves the cap as it is.

    Raises:
        Refusal: unresolved reservations of an earlier day, unless the invocation accepts them.
    """

    def decide(state: LedgerState, now: Instant) -> Decision[tuple[Refusal | None, CapChanged | None]]:
        rolls = state.window is None or now.date > state.window
        cap = state.cap if invocation.purpose == "count" else invocation.local_token_cap
        carried = state.carried + (_open_tokens(state) if rolls else 0)
        if carried and not opened.accept_carryover:
            refusal = Refusal(
                f"{carried} tokens of an earlier day are unresolved; locality resolve them, or pass --accept-carryover"
            )
            return Decision((refusal, None))
        changed = CapChanged(state.cap, cap) if not rolls and state.cap != cap else None
        window: Record | None = WindowOpened(now.date, cap) if rolls else changed
        records: tuple[Record, ...] = (opened,) if window is None else (opened, window)
        return Decision((None, changed), records, durable=True)

    refusal, changed = ledger.transact(decide)
    if refusal is not None:
        raise refusal
    if changed is not None:
        events.append("token_cap_changed", old=changed.old, new=changed.new)
    overridden = invocation.max_rpm is not None or invocation.max_tpm is not None
    if overridden and opened.backend == LIVE:
        events.append("rate_limits_overridden", max_rpm=opened.max_rpm, max_tpm=opened.max_tpm)


def boot_id() -> str:
    """Names this start of the machine: its monotonic clock compares only within one."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return "unknown"


def _open_tokens(state: LedgerState) -> int:
    """Tokens that stay unresolved when nobody of the last invocation is alive any more."""
    return sum(r.reserve.tokens for r in state.open.values() if r.state != "reserved" and not r.carried)
