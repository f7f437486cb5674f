"""What can be wrong with a config or a plan. One line each: what was expected, what came, the remedy."""

from __future__ import annotations


class ConfigError(Exception):
    """A preset file, a model setting or a combination of them that cannot be planned. The caller's to mend."""


class PlanError(Exception):
    """A run directory that is no plan of this version, or no longer the one that was hashed."""
