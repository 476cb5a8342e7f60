"""Distinct count: the number of different items over all sites, each counted once."""

QUESTIONS = ("distinct-count",)
"""What the family answers; its methods are imported when one of them is asked for."""
