"""The verbs of `farwatch`: the only room that knows Spark, Delta, Great Expectations and files."""
