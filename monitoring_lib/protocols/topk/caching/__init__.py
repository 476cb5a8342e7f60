"""Caching: a baseline that keeps a copy of every sum at the coordinator."""

from monitoring_lib.protocols.topk.caching.method import Caching

__all__ = ["Caching"]
