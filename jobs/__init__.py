"""The verbs of `farwatch`: the only package that knows Spark, Delta, Great Expectations and files."""
