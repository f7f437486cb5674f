"""SHA-256 in the one spelling used everywhere: 64 lower-case hexadecimal digits.

What is hashed is decided by the callers; nothing here knows a document's meaning.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from bench.wire.canonical import canonical


def sha256_hex(data: bytes) -> str:
    """The SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def hash_document(value: Any) -> str:
    """The SHA-256 of a document's canonical form: the same for any key order and any spacing.

    Raises:
        CanonicalError: if the document holds what has no canonical form.
    """
    return sha256_hex(canonical(value))


def hash_file(path: Path | str) -> str:
    """The SHA-256 of a file's bytes, read in pieces.

    Raises:
        OSError: if the file cannot be read.
    """
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
