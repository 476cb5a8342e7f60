"""Aggregates by adaptive filters: sums, means and extremes of values that live at sites, at every tick."""

QUESTIONS = ("aggregates",)
"""What the family answers; its methods are imported when one of them is asked for."""
