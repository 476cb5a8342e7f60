"""Gradient: every level of the tree may lose a share of its own; the shares shrink from the root to the sites."""

from monitoring_lib.protocols.frequent_items.gradient.method import Gradient

__all__ = ["Gradient"]
