"""Top-k monitoring: the k items with the largest (or smallest) sums over all sites."""

QUESTIONS = ("top-k",)
"""What the family answers; its methods are imported when one of them is asked for."""
