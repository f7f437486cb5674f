"""``locality``: the command line. ``main`` is all that others need."""

from bench.cli.entry import main

__all__ = ["main"]
