"""Deterministic data: seeds, families, example banks and their expansion into cases."""
