"""Top-k everywhere: every site knows the k items with the largest sums, and no coordinator exists."""

QUESTIONS = ("top-k-everywhere",)
"""What the family answers; its methods are imported when one of them is asked for."""
