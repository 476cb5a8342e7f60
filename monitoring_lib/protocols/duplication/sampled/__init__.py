"""A sample of the different items at the coordinator, its counts kept up to a lag in one of three ways."""

from monitoring_lib.protocols.duplication.sampled.method import GlobalCounts, LazyCounts, LocalCounts

__all__ = ["GlobalCounts", "LazyCounts", "LocalCounts"]
