"""Spark: a session, its settings, and expressions as columns."""
