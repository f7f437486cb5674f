"""The two lock files of a run: ``lock`` for the controller of a session, ``workers.lock`` for everybody who sends.

Native ``flock`` on files that are never deleted: the system frees a dead process's lock, and a file that stays has one
inode to lock. Which session may start is decided here, what it may send is not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.run.fs import LockUnsupportedError
from bench.run.invocation import Refusal

if TYPE_CHECKING:
    from bench.run.fs import Fs

LOCK, WORKERS_LOCK = "lock", "workers.lock"
ORPHAN_LIFE_S = 20
# flock on these is local to one client or emulated: two machines could both believe that they hold it
_SHARED_FILE_SYSTEMS = ("nfs", "cifs", "smb", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs")


class HeldLock:
    """A lock that this process holds until it is let go."""

    def __init__(self, fs: Fs, fd: int) -> None:
        self._fs = fs
        self._fd: int | None = fd

    def release(self) -> None:
        """Let go; a second time does nothing."""
        if self._fd is not None:
            self._fs.close(self._fd)  # closing the only descriptor of an open file frees its flock
            self._fd = None


def lock_session(fs: Fs, run_dir: Path) -> HeldLock:
    """The controller's lock, taken after making sure that no worker of a killed session is alive.

    Raises:
        Refusal: another session or an orphan holds a lock, or the file system cannot lock.
    """
    refuse_shared_file_system(run_dir, Path("/proc/self/mounts"))
    session = _take(fs, run_dir / LOCK, exclusive=True)
    if session is None:
        raise Refusal(f"{run_dir}: another session holds this run; wait for it or stop it")
    try:
        workers = _take(fs, run_dir / WORKERS_LOCK, exclusive=True)
    except Refusal:
        session.release()
        raise
    if workers is None:
        session.release()
        raise Refusal(
            f"{run_dir}: workers of a session that was killed are still alive; they end within about"
            f" {ORPHAN_LIFE_S} s or with the request in flight, try again then"
        )
    workers.release()
    return session


def lock_worker(fs: Fs, run_dir: Path) -> HeldLock:
    """A worker's share of ``workers.lock``.

    Raises:
        Refusal: a session is just being started on this run.
    """
    held = _take(fs, run_dir / WORKERS_LOCK, exclusive=False)
    if held is None:
        raise Refusal(f"{run_dir}: another session is starting on this run")
    return held


def is_locked(fs: Fs, run_dir: Path) -> bool:
    """Whether a session holds the run now; no where the lock cannot be opened or taken, as on a read-only copy."""
    if not (run_dir / LOCK).exists():
        return False
    try:
        held = _take(fs, run_dir / LOCK, exclusive=True)
    except Refusal:  # no session of this user could hold it either: a published run can be read where it lies
        return False
    if held is not None:
        held.release()
    return held is None


def refuse_shared_file_system(path: Path, mounts: Path) -> None:
    """Raise ``Refusal`` on a network file system; where the mounts cannot be read, ``flock`` itself has to tell."""
    try:
        rows = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return
    target = str(path.resolve())
    best = max(
        (row for row in rows if len(row) > 2 and _is_under(target, row[1])), key=lambda row: len(row[1]), default=None
    )
    if best is not None and best[2].startswith(_SHARED_FILE_SYSTEMS):
        raise Refusal(f"{path}: on a {best[2]} file system, whose locks cannot be relied on; use a local disk")


def _is_under(target: str, mount: str) -> bool:
    return target == mount or target.startswith(mount.rstrip("/") + "/")


def _take(fs: Fs, path: Path, *, exclusive: bool) -> HeldLock | None:
    try:
        fd = fs.open_append(path)
    except OSError as error:
        raise Refusal(f"{path}: cannot be written ({error.strerror}); free space or make it writable") from None
    try:
        if fs.lock(fd, exclusive=exclusive, wait=False):
            return HeldLock(fs, fd)
    except LockUnsupportedError as error:
        fs.close(fd)
        raise Refusal(f"{path}: this file system cannot lock ({error}); use a local disk") from None
    fs.close(fd)
    return None
