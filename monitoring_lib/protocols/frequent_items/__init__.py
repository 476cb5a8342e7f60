"""Frequent items: which items exceed a share of a decayed total, counted through a tree of nodes."""

QUESTIONS = ("frequent-items",)
"""What the family answers; its methods are imported when one of them is asked for."""
