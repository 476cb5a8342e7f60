"""The sites' side of an epoch: one function with two places to run, Spark's tasks or this process."""
