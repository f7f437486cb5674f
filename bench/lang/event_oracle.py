"""What is visible at the probe of a parsed prefix, computed with an explicit stack of scopes.

Reads events only: it knows no tree and no text, and shares no code with `reference_oracle`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from bench.lang.ast import Let, Nop, Observation
from bench.lang.errors import OracleError
from bench.lang.events import Close, Open

if TYPE_CHECKING:
    from bench.lang.events import ParsedPrefix


def observe_parsed(prefix: ParsedPrefix) -> Observation:
    """The probed variable's value and the open blocks; OracleError if it is unbound or a close has no open."""
    frames: list[dict[str, int]] = [{}]
    names: list[str] = []
    for position, event in enumerate(prefix.events):
        match event:
            case Open(_, name):
                frames.append({})
                names.append(name)
            case Close():
                if not names:
                    raise OracleError(f"event {position} closes the global scope")
                frames.pop()
                names.pop()
            case Let(variable, value):
                frames[-1][variable] = value
            case Nop():
                pass
            case _:
                assert_never(event)
    for frame in reversed(frames):
        if prefix.probe.variable in frame:
            return Observation(frame[prefix.probe.variable], tuple(names))
    raise OracleError(f"{prefix.probe.variable} is not bound at the probe")
