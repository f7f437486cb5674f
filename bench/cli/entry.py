"""The entry point: parse, run one command, and turn whatever goes wrong into one line and an exit code.

Commands live in the modules beside this one; each returns its exit code. Nothing heavy may be imported here.

    0 done   1 not (yet) as asked   2 interrupted   3 internal error   4 usage or refusal   6 stopped by a cap
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

import typer
from typer.main import get_command

from bench.cli import answer_commands, plan_commands, result_commands, run_commands
from bench.cli.options import UsageError, attach_defaults

if TYPE_CHECKING:
    from collections.abc import Sequence

OK, INTERRUPTED, INTERNAL, REFUSED = 0, 2, 3, 4
# the errors of other layers whose message is already one line with a remedy; by name, so that none is imported early
REFUSALS = frozenset(
    {
        "AuditError",
        "BlindedError",
        "ComparisonError",
        "ConfigError",
        "CredentialError",
        "EndpointError",
        "LedgerDamagedError",
        "LocalModelError",
        "PlanError",
        "PowerError",
        "PromptChangedError",
        "Refusal",
        "RunFileError",
        "SessionBrokenError",
    }
)

APP = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Measures, pairwise, whether redundant block terminators help a language model read nested scopes, and "
    "whether they cost it when it writes them.\n\n"
    "The usual way: plan, audit, run, report. Nothing is sent without --mock, --local or --execute.",
)
plan_commands.register(APP)
run_commands.register(APP)
result_commands.register(APP)
answer_commands.register(APP)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of ``locality`` with these arguments (default: the process's own)."""
    given = attach_defaults(list(sys.argv[1:] if arguments is None else arguments))
    try:
        code = get_command(APP).main(given or ["--help"], prog_name="locality", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left: nothing more to say
        return OK
    except Exception as error:  # noqa: BLE001 (the one place where an error becomes a line and a code)
        return _explained(error)
    return code if isinstance(code, int) else OK


def _explained(error: Exception) -> int:
    """The exit code for ``error``, told on one line."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, UsageError) or kinds & REFUSALS:
        return _say(str(error), REFUSED)
    if "UsageError" in kinds and hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        where = context.command_path if context is not None else "locality"
        return _say(f"{error.format_message().removesuffix('.')}; see {where} --help", REFUSED)
    if isinstance(error, OSError):
        what = f"{error.filename or 'input/output'}: {error.strerror or error}"
        return _say(f"{what}; check the path, its permissions and the free space", REFUSED)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return _say(f"internal error: {type(error).__name__}: {error} ({last.filename}:{last.lineno})", INTERNAL)


def _say(message: str, code: int) -> int:
    sys.stderr.write(f"locality: {' '.join(message.replace('Value error, ', '').split())}\n")
    return code
