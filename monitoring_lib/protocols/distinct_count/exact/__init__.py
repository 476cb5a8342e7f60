"""Exact: a baseline in which every site sends every item that is new to it."""

from monitoring_lib.protocols.distinct_count.exact.method import Exact

__all__ = ["Exact"]
