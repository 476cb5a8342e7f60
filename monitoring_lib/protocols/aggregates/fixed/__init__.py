"""Widths that follow from the queries and the objects alone: uniform, none, waterfill, optimised."""

from monitoring_lib.protocols.aggregates.fixed.method import NoFilter, Optimised, Uniform, Waterfill

__all__ = ["NoFilter", "Optimised", "Uniform", "Waterfill"]
