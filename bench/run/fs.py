"""The few file-system operations that durability rests on, as one small object that a test can make fail.

No knowledge of what is stored. Everything that a run writes goes through an ``Fs``; reading for reports need not.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Protocol

import portalocker

if TYPE_CHECKING:
    from pathlib import Path

_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})


class LockUnsupportedError(Exception):
    """The file system cannot lock: nothing may be sent from it."""


class Fs(Protocol):
    """Operations of the run store and the ledger. Each is one system call, or one named recipe of them."""

    def open_append(self, path: Path) -> int:
        """A descriptor for reading and appending; the file is created if it is missing."""
        ...

    def open_new(self, path: Path) -> int:
        """A descriptor for writing; an older file of that name is emptied."""
        ...

    def read_at(self, fd: int, size: int, offset: int) -> bytes:
        """Up to ``size`` bytes from ``offset``; empty at the end."""
        ...

    def write(self, fd: int, data: bytes) -> int:
        """One ``write``: how many bytes were taken."""
        ...

    def fsync(self, fd: int) -> None:
        """Flush a file to the disk."""
        ...

    def fsync_dir(self, path: Path) -> None:
        """Flush a folder's entries to the disk."""
        ...

    def truncate(self, fd: int, size: int) -> None:
        """Cut a file to ``size`` bytes."""
        ...

    def close(self, fd: int) -> None:
        """Give a descriptor back."""
        ...

    def replace(self, source: Path, target: Path) -> None:
        """Rename, replacing ``target``."""
        ...

    def mkdir(self, path: Path) -> None:
        """Make a folder; one that exists is fine."""
        ...

    def lock(self, fd: int, *, exclusive: bool, wait: bool) -> bool:
        """Take a ``flock``; False if somebody holds a conflicting one and ``wait`` is false.

        Raises:
            LockUnsupportedError: the file system has no locks.
        """
        ...

    def unlock(self, fd: int) -> None:
        """Let a ``flock`` go."""
        ...


class OsFs:
    """The real file system. Descriptors are close-on-exec, so that no child process keeps a lock alive."""

    def open_append(self, path: Path) -> int:
        """``open`` with O_APPEND and O_CREAT."""
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def open_new(self, path: Path) -> int:
        """``open`` with O_CREAT and O_TRUNC."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)

    def read_at(self, fd: int, size: int, offset: int) -> bytes:
        """``pread``."""
        return os.pread(fd, size, offset)

    def write(self, fd: int, data: bytes) -> int:
        """``write``, which may take less than all."""
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        """``fsync``."""
        os.fsync(fd)

    def fsync_dir(self, path: Path) -> None:
        """``fsync`` of a folder."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def truncate(self, fd: int, size: int) -> None:
        """``ftruncate``."""
        os.ftruncate(fd, size)

    def close(self, fd: int) -> None:
        """``close``."""
        os.close(fd)

    def replace(self, source: Path, target: Path) -> None:
        """``rename`` over the target."""
        os.replace(source, target)  # noqa: PTH105 - Path.replace builds a Path on every call; this is the hot path

    def mkdir(self, path: Path) -> None:
        """``mkdir``, tolerant of one that exists."""
        path.mkdir(exist_ok=True)

    def lock(self, fd: int, *, exclusive: bool, wait: bool) -> bool:
        """``flock``: belongs to the open file, freed by the system when its process dies."""
        flags = portalocker.LockFlags.EXCLUSIVE if exclusive else portalocker.LockFlags.SHARED
        try:
            portalocker.lock(fd, flags if wait else flags | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.AlreadyLocked:
            return False
        except portalocker.LockException as error:
            cause = error.__cause__
            if isinstance(cause, OSError) and cause.errno in _NO_LOCKS:
                raise LockUnsupportedError(str(cause)) from error
            raise
        return True

    def unlock(self, fd: int) -> None:
        """Free a ``flock``."""
        portalocker.unlock(fd)


def write_all(fs: Fs, fd: int, data: bytes) -> None:
    """Write every byte, going on after short writes.

    Raises:
        OSError: as the file system said; some bytes may have been written.
    """
    view = data
    while view:
        taken = fs.write(fd, view)
        view = view[taken:]


def write_file(fs: Fs, path: Path, data: bytes, *, durable: bool) -> None:
    """Put a whole file in place: temporary name, optional fsync, rename. The final name proves wholeness."""
    temporary = path.with_name(path.name + ".tmp")
    fd = fs.open_new(temporary)
    try:
        write_all(fs, fd, data)
        if durable:
            fs.fsync(fd)
    finally:
        fs.close(fd)
    fs.replace(temporary, path)
