"""The pytest plugin: options, items from the plan, outcome words, guards, and what follows the session.

Only names are re-exported here, because pytest looks for hooks in the module it loads. Everything that costs an import
is loaded once an evaluation is asked for; `pytest tests` pays for option parsing alone.
"""

from bench.plugin.hooks import pytest_addoption, pytest_configure, pytest_pycollect_makeitem

__all__ = ["pytest_addoption", "pytest_configure", "pytest_pycollect_makeitem"]
