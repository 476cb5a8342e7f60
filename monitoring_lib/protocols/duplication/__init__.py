"""Duplication: how often items occur over all sites, from a sample of the different items."""

QUESTIONS = ("duplication",)
"""What the family answers; its methods are imported when one of them is asked for."""
