"""The plugin's command-line options, and what they say once read.

Only what can be refused without opening a file is refused here.
"""

from __future__ import annotations

import argparse
import re
import shlex
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

MOCK_MODES = ("oracle", "flawed", "planted")
CAPS = ("max_generation_calls", "max_http_attempts", "local_token_cap")
EMBEDDED = "embedded"  # what a bare --local means: the packaged weights
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Backend:
    """Where requests go. ``detail`` is the mock's mode or the model file."""

    kind: Literal["dry", "mock", "local", "live"]
    detail: str | None = None

    @property
    def name(self) -> str:
        """The word that names the backend in a run folder; a dry run binds nothing and may be executed later."""
        return f"mock-{self.detail}" if self.kind == "mock" else {"dry": "live"}.get(self.kind, self.kind)


def add_options(parser: pytest.Parser) -> None:
    """Add the option group; values of ``--mock`` and ``--local`` only after ``=``."""
    group = parser.getgroup("locality", "the benchmark (only with arguments in evals/; without a backend: a dry run)")
    _add_plan_options(group)
    _add_backend_options(group)
    _add_limit_options(group)
    _add_resume_options(group)
    _add_view_options(group)


def _add_plan_options(group: pytest.OptionGroup) -> None:
    group.addoption("--run", metavar="DIR", help="a planned run: send what is still pending in it")
    group.addoption(
        "--preset",
        metavar="NAME|FILE",
        help="without --run: plan this preset, or reuse its plan in runs/; default: the one named by -m, else smoke",
    )
    group.addoption(
        "--phase",
        choices=("p0", "p1"),
        help="p0: task scope_lookup alone; p1: all three tasks; default: p0 if -m asks for p0, else p1",
    )


def _add_view_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--progress",
        type=seconds,
        metavar="SECONDS",
        help="seconds between two lines on how far the session is, 0: none; default 10 on a terminal, else 60",
    )


def _add_backend_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--mock",
        nargs="?",
        const="oracle",
        metavar="MODE",
        help=f"fabricated answers, marked synthetic ({', '.join(MOCK_MODES)}; default oracle); write --mock=MODE",
    )
    group.addoption(
        "--local",
        nargs="?",
        const=EMBEDDED,
        metavar="FILE",
        help="a real model on this machine: the packaged weights, or a GGUF file; write --local=FILE.gguf",
    )
    group.addoption(
        "--execute",
        action="store_true",
        help="send to the configured endpoint; needs OPENAI_API_KEY and the three caps below",
    )


def _add_limit_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--max-generation-calls", type=positive, metavar="N", help="trials begun by this invocation, at most"
    )
    group.addoption(
        "--max-http-attempts",
        type=positive,
        metavar="N",
        help="HTTP attempts of this invocation, at most: counts, generations and retries",
    )
    group.addoption(
        "--local-token-cap",
        type=positive,
        metavar="N",
        help="tokens per UTC day that this machine may reserve or use for the run, at most",
    )
    group.addoption("--max-rpm", type=positive, metavar="N", help="HTTP attempts per minute (default: the preset's)")
    group.addoption("--max-tpm", type=positive, metavar="N", help="reserved tokens per minute (default: the preset's)")
    group.addoption(
        "--soft-budget",
        action="store_true",
        help="go on where the endpoint cannot count tokens, with an estimate; then no cap on tokens is strict",
    )


def _add_resume_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--retry-ambiguous",
        action="store_true",
        help="send again what may have been billed without an answer; the old reservation stays charged",
    )
    group.addoption(
        "--retry-failed", action="store_true", help="send again trials that ended in an infrastructure outcome"
    )
    group.addoption(
        "--accept-carryover",
        action="store_true",
        help="go on although reservations of an earlier day are still unresolved",
    )
    group.addoption(
        "--protocol-hash", type=sha256, metavar="HEX", help="what `locality freeze` printed; confirmatory runs need it"
    )


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 15 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def seconds(text: str) -> float:
    """A number of seconds, 0 or more."""
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, like 30 or 0.5")
    return float(text)


def sha256(text: str) -> str:
    """64 lower-case hex digits."""
    if not SHA256.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a SHA-256: 64 hex digits, as `locality freeze` prints them")
    return text


def read_backend(config: pytest.Config) -> Backend:
    """Return the one backend the options name; raise `pytest.UsageError` on two, or on a value that is none."""
    mock, local, execute = (config.getoption(name) for name in ("mock", "local", "execute"))
    chosen = [flag for flag, value in (("--mock", mock), ("--local", local), ("--execute", execute)) if value]
    if len(chosen) > 1:
        raise pytest.UsageError(f"{' and '.join(chosen)} exclude each other: name one backend")
    arguments = list(config.invocation_params.args)
    if mock is not None:
        return Backend("mock", _mock_mode(mock, arguments))
    if local is not None:
        return Backend("local", _model_file(local, arguments))
    if not execute:
        return Backend("dry")
    _require_caps(config)
    return Backend("live")


def _mock_mode(value: str, arguments: Sequence[str]) -> str:
    if value not in MOCK_MODES:
        raise pytest.UsageError(
            f"--mock: {value!r} is not a mode ({', '.join(MOCK_MODES)}); a value is read only after '=': --mock=MODE"
        )
    _refuse_detached("--mock", value, arguments)
    return value


def _model_file(value: str, arguments: Sequence[str]) -> str:
    if value == EMBEDDED:
        return value
    if Path(value).is_dir():
        raise pytest.UsageError(
            f"--local: {value!r} is a folder, not a model; a value is read only after '=': --local=FILE.gguf, "
            "or put --local behind the folder"
        )
    if not Path(value).is_file():
        raise pytest.UsageError(
            f"--local: there is no model file {value!r}; a value is read only after '=': --local=FILE.gguf"
        )
    _refuse_detached("--local", value, arguments)
    return value


def _refuse_detached(flag: str, value: str, arguments: Sequence[str]) -> None:
    if (flag, value) in pairwise(arguments):
        raise pytest.UsageError(f"{flag} {value}: a value is read only after '=': {flag}={value}")


def _require_caps(config: pytest.Config) -> None:
    missing = [option_name(cap) for cap in CAPS if config.getoption(cap) is None]
    if missing:
        raise pytest.UsageError(f"--execute spends money and needs {', '.join(missing)}; nothing was sent")


def option_name(dest: str) -> str:
    """The flag of an option, from the name pytest keeps it under."""
    return "--" + dest.replace("_", "-")


def execute_command(arguments: Sequence[str], *, generation_calls: int, http_attempts: int, tokens: int) -> str:
    """The command line that would send what a dry run only listed."""
    caps = zip(CAPS, (generation_calls, http_attempts, tokens), strict=True)
    given = {argument.partition("=")[0] for argument in arguments}
    added = [f"{option_name(cap)}={value}" for cap, value in caps if option_name(cap) not in given]
    return shlex.join(["pytest", *arguments, "--execute", *added])
