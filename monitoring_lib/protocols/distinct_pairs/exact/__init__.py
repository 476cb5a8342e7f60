"""Exact: every pair that is new to a site is told, and all are kept."""

from monitoring_lib.protocols.distinct_pairs.exact.method import ExactHeavyHitters, ExactQuantiles

__all__ = ["ExactHeavyHitters", "ExactQuantiles"]
