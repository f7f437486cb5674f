"""Ctrl-C: the first press stops the session in good order, the second interrupts at once.

The handler takes no lock and writes no file: it may have interrupted the very frame that holds the ledger's lock. It
sets a number and wakes a thread through a pipe; the thread does what takes locks.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


class InterruptStop:
    """SIGINT for one process. ``on_first`` runs in a thread of its own; ``pressed`` counts."""

    def __init__(self, on_first: Callable[[], None]) -> None:
        self.pressed = 0
        self._on_first = on_first
        self._old: Any = None
        self._read_fd, self._write_fd = -1, -1
        self._thread: threading.Thread | None = None

    def install(self) -> None:
        """Put the handler in place; from the main thread only, as signals demand."""
        self._read_fd, self._write_fd = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
        self._thread = threading.Thread(target=self._wait_for_press, name="interrupt-stop", daemon=True)
        self._thread.start()
        self._old = signal.signal(signal.SIGINT, self._handle)

    def restore(self) -> None:
        """Put the handler before it back, and wait for a stop that is just being written."""
        if self._thread is None:
            return
        signal.signal(signal.SIGINT, self._old)
        os.close(self._write_fd)  # the thread reads the end of the pipe and ends
        self._thread.join()
        os.close(self._read_fd)
        self._thread = None

    def _handle(self, _signal: int, _frame: FrameType | None) -> None:
        self.pressed += 1
        if self.pressed > 1:
            raise KeyboardInterrupt
        os.write(self._write_fd, b"!")

    def _wait_for_press(self) -> None:
        if os.read(self._read_fd, 1):
            self._on_first()
