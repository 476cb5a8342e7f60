"""Bounds: every list says how much its items lack at most, and how much an unlisted item has at most."""

from monitoring_lib.protocols.frequent_items.bounds.method import Bounds

__all__ = ["Bounds"]
