"""Different pairs: which items have the most different partners, and quantiles over the different items."""

QUESTIONS = ("distinct-heavy-hitters", "distinct-quantiles")
"""What the family answers; its methods are imported when one of them is asked for."""
