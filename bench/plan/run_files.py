"""Names of files in a run directory that more than one part of the project reads or writes. Names only.

The plan's own files are named in ``manifest``; what only one part knows is named there.
"""

from __future__ import annotations

AUDIT_FILE = "audit.json"
CAPABILITIES_FILE = "capabilities.json"
FREEZE_FILE = "freeze.json"
LEDGER_FILE = "usage-ledger.jsonl"
TOKEN_COUNTS_FILE = "token-counts.jsonl"  # noqa: S105  # language-model tokens, no secret
