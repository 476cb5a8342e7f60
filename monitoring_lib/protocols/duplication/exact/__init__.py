"""Exact: every count is told in every epoch, and all are kept."""

from monitoring_lib.protocols.duplication.exact.method import Exact

__all__ = ["Exact"]
