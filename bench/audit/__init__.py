"""Checks that a referee would ask for; no plan is run without them."""
