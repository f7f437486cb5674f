"""The local model's server in the foreground."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import typer

from bench.backends.local_model import LocalModelError, LocalServer, describe, find_weights

if TYPE_CHECKING:
    from pathlib import Path


def serve(file: Path | None, *, port: int) -> int:
    """0 after Ctrl-C.

    Raises:
        LocalModelError: the server could not start, or ended by itself.
    """
    weights, ended = find_weights(file), threading.Event()
    spec = describe(weights)
    with LocalServer(spec, weights, port=port, on_crash=lambda _: ended.set()) as server:
        typer.echo(f"{spec.model} on {spec.server}: {server.base_url} (Ctrl-C ends it)")
        try:
            ended.wait()
        except KeyboardInterrupt:
            return 0
        raise LocalModelError(server.failure() or "the local model server ended")
