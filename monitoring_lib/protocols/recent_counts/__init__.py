"""Recent counts: what happened in any recent range of time, over all sites."""

QUESTIONS = ("recent-counts",)
"""What the family answers; its methods are imported when one of them is asked for."""
