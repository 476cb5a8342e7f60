"""Geometric monitoring over sliding windows: functions of the sum of the sites' arrays, watched by local tests."""

QUESTIONS = ("self-join-size", "over-threshold")
"""What the family answers; its methods are imported when one of them is asked for."""
