"""The secrets of one endpoint, read from the environment and never shown.

Checked here, before use, because an HTTP library that meets an illegal byte puts the whole header into its message.
Turning a secret into text is left to the place that builds headers (``transport``) and the one that masks (``redact``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import SecretStr

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = "OPENAI_API_KEY"
PROJECT = "OPENAI_PROJECT"
ORGANIZATION = "OPENAI_ORGANIZATION"
# the official SDK's names for the same two headers: a careful user wants to know that they have no effect here
IGNORED_VARIABLES = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")

_MIN_CHARS = 4  # masking something shorter would eat ordinary text
_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]*")


class CredentialError(ValueError):
    """An environment variable that cannot travel in a header. The message never holds the value."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Key, project and organisation; ``None`` sends no header."""

    api_key: SecretStr | None = None
    project: SecretStr | None = None
    organization: SecretStr | None = None

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> Credentials:
        """The credentials in ``env``; unset and empty variables are absent ones.

        Raises:
            CredentialError: for a value with a byte that no header may hold, or too short to be one.
        """
        found = {name: SecretStr(env[name]) for name in (KEY, PROJECT, ORGANIZATION) if env.get(name)}
        del env  # a traceback shows its frames' arguments
        for name, secret in found.items():
            if problem := _problem(secret):
                raise CredentialError(f"{name} {problem}")
        return cls(api_key=found.get(KEY), project=found.get(PROJECT), organization=found.get(ORGANIZATION))

    @property
    def secrets(self) -> tuple[SecretStr, ...]:
        """All values that must never be stored."""
        return tuple(secret for secret in (self.api_key, self.project, self.organization) if secret is not None)


def ignored_variables(env: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that are set, look like credentials, and are not read."""
    return tuple(name for name in IGNORED_VARIABLES if env.get(name))


def _problem(secret: SecretStr) -> str | None:
    length = len(secret)
    legal = _VISIBLE_ASCII.match(secret.get_secret_value())
    end = legal.end() if legal else 0
    if end < length:
        return f"holds a blank, control or non-ASCII character at position {end + 1} of {length}: set it again without"
    if length < _MIN_CHARS:
        return f"has {length} characters, too few for a credential"
    return None
