"""Sending, paying, stopping and coming back: ledger, run store, trial runner, recovery."""
