"""Thin pytest hooks: options, collection, fixtures, scheduling, terminal summary."""
