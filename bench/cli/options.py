"""The options that several commands share, and what is refused before a command runs."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

MOCK_MODES = ("oracle", "flawed", "planted")
PACKAGED = "embedded"
# options whose value is optional and read only after "=", and what they mean when it is left out
OPTIONAL_VALUES = {"--mock": "oracle", "--local": PACKAGED}
SHA256 = re.compile(r"[0-9a-f]{64}")


class UsageError(Exception):
    """What was asked for cannot be done as asked; the message is one line and names the remedy."""


class PhaseName(StrEnum):
    """What is planned: task scope_lookup alone, or every task of the preset."""

    P0 = "p0"
    P1 = "p1"


def attach_defaults(arguments: list[str]) -> list[str]:
    """The arguments with every bare ``--mock`` and ``--local`` given its default value after ``=``."""
    return [f"{word}={OPTIONAL_VALUES[word]}" if word in OPTIONAL_VALUES else word for word in arguments]


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not _is_positive(text):
        raise typer.BadParameter(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _is_positive(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 15 and int(text) > 0


def not_negative(text: str) -> int:
    """A whole number of at least 0."""
    if text != "0" and not _is_positive(text):
        raise typer.BadParameter(f"{text!r} is not a whole number of at least 0")
    return int(text)


def mock_mode(text: str) -> str:
    """A mode of the mock."""
    if text not in MOCK_MODES:
        raise typer.BadParameter(f"{text!r} is not a mode; write --mock or --mock=MODE with {', '.join(MOCK_MODES)}")
    return text


def model_file(text: str) -> str:
    """The packaged model, or a file."""
    if text != PACKAGED and not Path(text).is_file():
        raise typer.BadParameter(f"{text!r} is not a file; write --local or --local=FILE.gguf")
    return text


def frozen_hash(text: str) -> str:
    """What freeze printed."""
    if not SHA256.fullmatch(text):
        raise typer.BadParameter(f"{text!r} is not a SHA-256: 64 hex digits, as locality freeze prints them")
    return text


def run_dir(text: str) -> Path:
    """A folder that holds a plan."""
    path = Path(text)
    if not (path / "protocol.json").is_file():
        raise typer.BadParameter(
            f"{text!r} is no planned run (no protocol.json in it); make one: locality plan --out DIR"
        )
    return path


def flag_name(name: str) -> str:
    """The flag of an option, from its parameter's name."""
    return "--" + name.replace("_", "-")


def require_caps(caps: dict[str, object]) -> None:
    """Nothing, if every cap is set.

    Raises:
        UsageError: one is not.
    """
    missing = [flag_name(name) for name, value in caps.items() if value is None]
    if missing:
        raise UsageError(f"--execute spends money and needs {', '.join(missing)}; nothing was sent")


def require_one(**given: object) -> None:
    """Nothing, if at most one of the backends is chosen.

    Raises:
        UsageError: two are.
    """
    chosen = [f"--{name}" for name, value in given.items() if value]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} exclude each other: name one backend")


Run = Annotated[Path, typer.Option("--run", metavar="DIR", parser=run_dir, help="The run directory of a plan.")]
Mock = Annotated[
    str | None,
    typer.Option(
        "--mock",
        metavar="[=MODE]",
        parser=mock_mode,
        help="Fabricated answers, marked synthetic everywhere: oracle (default), flawed or planted. No network.",
    ),
]
Local = Annotated[
    str | None,
    typer.Option(
        "--local",
        metavar="[=FILE]",
        parser=model_file,
        help="A real model on this machine: the packaged weights, or a GGUF file. No network, no key.",
    ),
]
Execute = Annotated[
    bool, typer.Option("--execute", help="Send to the configured endpoint; needs OPENAI_API_KEY and the caps.")
]
Attempts = Annotated[
    int | None,
    typer.Option(
        "--max-http-attempts",
        metavar="N",
        parser=positive,
        help="HTTP attempts of this invocation, at most: counts, generations and retries together.",
    ),
]
TokenCap = Annotated[
    int | None,
    typer.Option(
        "--local-token-cap",
        metavar="N",
        parser=positive,
        help="Tokens per UTC day that may be used or reserved, at most. Your own budget, not the provider's.",
    ),
]
MaxRpm = Annotated[
    int | None,
    typer.Option("--max-rpm", metavar="N", parser=positive, help="HTTP attempts per minute, instead of the plan's."),
]
MaxTpm = Annotated[
    int | None,
    typer.Option("--max-tpm", metavar="N", parser=positive, help="Reserved tokens per minute, instead of the plan's."),
]
Preset = Annotated[
    str,
    typer.Option(
        "--preset", metavar="NAME|FILE", help="One in configs/ (smoke, pilot, main, hard, …), or a .json file."
    ),
]
