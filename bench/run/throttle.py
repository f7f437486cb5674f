"""Requests and tokens of the last 60 seconds: what the RPM and TPM limits look at.

Pure: the window is fed by the ledger fold and asked by ``limits``; nobody sleeps here.
"""

from __future__ import annotations

from collections import deque

WINDOW_MS = 60_000


class RateWindow:
    """A sliding window over dispatched attempts. Tokens are reservations, corrected when an attempt is settled."""

    __slots__ = ("_order", "_tokens", "total_tokens")

    def __init__(self) -> None:
        self._order: deque[tuple[int, str]] = deque()
        self._tokens: dict[str, int] = {}
        self.total_tokens = 0

    def add(self, key: str, *, tokens: int, mono_ms: int) -> None:
        """An attempt was dispatched; what lies 60 s before it is forgotten."""
        self.forget_before(mono_ms - WINDOW_MS)
        self._order.append((mono_ms, key))
        self._tokens[key] = tokens
        self.total_tokens += tokens

    def correct(self, key: str, tokens: int) -> None:
        """An attempt turned out to take this many tokens; one that left the window no longer matters."""
        if key in self._tokens:
            self.total_tokens += tokens - self._tokens[key]
            self._tokens[key] = tokens

    def forget_before(self, mono_ms: int) -> None:
        """Drop what was dispatched at ``mono_ms`` or earlier."""
        while self._order and self._order[0][0] <= mono_ms:
            self.total_tokens -= self._tokens.pop(self._order.popleft()[1])

    def clear(self) -> None:
        """Forget everything: another boot, whose monotonic clock does not compare."""
        self._order.clear()
        self._tokens.clear()
        self.total_tokens = 0

    def wait_ms(self, *, tokens: int, max_rpm: int | None, max_tpm: int | None, mono_ms: int) -> int:
        """Milliseconds until one more attempt of ``tokens`` fits; 0 if it fits now.

        An attempt that is larger than ``max_tpm`` by itself never fits; callers refuse it before they ask.
        """
        oldest = mono_ms - WINDOW_MS
        count, total, wait = len(self._order), self.total_tokens, 0
        for at, key in self._order:
            fits = (max_rpm is None or count < max_rpm) and (max_tpm is None or total + tokens <= max_tpm)
            if at > oldest:
                if fits:
                    break
                wait = at + WINDOW_MS - mono_ms
            count, total = count - 1, total - self._tokens[key]
        return wait
