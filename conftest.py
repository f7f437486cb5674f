"""Loads the benchmark's pytest plugin; the plugin stays inert unless an argument lies in evals/."""

pytest_plugins = ["bench.plugin"]
