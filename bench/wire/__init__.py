"""Bytes to values and back: strict JSON, the canonical form for hashes, SHA-256. Knows nothing of the project."""
