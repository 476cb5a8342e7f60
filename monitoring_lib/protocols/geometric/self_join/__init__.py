"""Self-join size within a factor: geometric monitoring of the sum of the sites' arrays."""

from monitoring_lib.protocols.geometric.self_join.method import Arrays, Convex, EveryUpdate, HalfSpace

__all__ = ["Arrays", "Convex", "EveryUpdate", "HalfSpace"]
