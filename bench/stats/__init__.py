"""Paired effect sizes and their uncertainty. Pure functions of integers."""
