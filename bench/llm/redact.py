"""What of a server's answer may be stored: known secrets masked, account details and gateway pages left out.

A server may echo the key it was sent, a gateway's error page shows the caller's address. Nothing here reads an answer's
meaning; a masked answer still decodes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import SecretStr

from bench.wire.hashing import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.llm.model import RawResponse

MASK = "[redacted]"

# an allow list: whatever a gateway adds tomorrow (cookies, account names, addresses) stays out by itself
_STORABLE_HEADERS = frozenset({
    "content-type", "date", "openai-processing-ms", "openai-version", "retry-after", "retry-after-ms", "x-request-id",
    "x-should-retry",
})  # fmt: skip
_STORABLE_PREFIX = "x-ratelimit-"

# identifiers of an account that error messages quote although nobody sent them
_ACCOUNT_ID = re.compile(r"\b(?:proj|org|sk)[-_][A-Za-z0-9*_-]{6,}")


def storable_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers that may be kept, names in lower case; of a repeated one the last."""
    named = ((name.lower(), value) for name, value in headers)
    return {name: value for name, value in named if name in _STORABLE_HEADERS or name.startswith(_STORABLE_PREFIX)}


def is_page(content_type: str, body: bytes) -> bool:
    """Whether a body is a gateway's page (HTML or XML) and not an answer of the API."""
    return "html" in content_type.lower() or body.lstrip()[:1] == b"<"


def mask_account_ids(text: str) -> str:
    """``text`` with everything that looks like a key, project or organisation id masked."""
    return _ACCOUNT_ID.sub(MASK, text)


class Redactor:
    """Masks the given secret values wherever they occur; its ``repr`` shows only how many it knows."""

    def __init__(self, secrets: Iterable[SecretStr | str]) -> None:
        values = {secret.get_secret_value() if isinstance(secret, SecretStr) else secret for secret in secrets}
        # longest first: one secret may contain another
        self._secrets = tuple(SecretStr(value) for value in sorted(values - {""}, key=len, reverse=True))

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"

    def text(self, text: str) -> tuple[str, bool]:
        """``text`` with the secrets masked, and whether there was any."""
        masked = text
        for secret in self._secrets:
            masked = _masked(masked, secret)
        return masked, masked != text

    def bytes(self, data: bytes) -> tuple[bytes, bool]:
        """``data`` with the secrets masked, and whether there was any; every other byte stays as it is."""
        text, found = self.text(data.decode("latin-1"))
        return (text.encode("latin-1"), True) if found else (data, False)

    def storable(self, raw: RawResponse) -> RawResponse:
        """``raw`` as it may be written: secrets masked, and of a gateway's page only type, size and SHA-256."""
        headers = {name: self.text(value)[0] for name, value in raw.headers.items()}
        content_type = headers.get("content-type", "")
        if is_page(content_type, raw.body):
            page = f"{content_type or 'a page'}, {len(raw.body)} bytes, sha256 {sha256_hex(raw.body)}"
            return replace(raw, headers=headers, body=b"", withheld=page, redacted=headers != raw.headers)
        body, found = self.bytes(raw.body)
        return replace(raw, headers=headers, body=body, redacted=found or headers != raw.headers)


def _masked(text: str, secret: SecretStr) -> str:
    text = text.replace(secret.get_secret_value(), MASK)
    if "\\u00" in text or "\\/" in text:
        # the same characters as JSON may spell them
        text = _json_spellings(secret).sub(MASK, text)
    return text


def _json_spellings(secret: SecretStr) -> re.Pattern[str]:
    def spellings(character: str) -> str:
        escaped = rf"\\u(?i:{ord(character):04x})"
        return rf"(?:\\?{re.escape(character)}|{escaped})"

    return re.compile("".join(spellings(character) for character in secret.get_secret_value()))
