"""Checks that a referee would ask for; no plan is run without them."""

from bench.audit.auditor import AuditReport, audit_run, require_audit

__all__ = ["AuditReport", "audit_run", "require_audit"]
