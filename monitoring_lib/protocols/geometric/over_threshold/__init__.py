"""Items over a threshold: each item's counters are watched by local tests and synchronised alone."""

from monitoring_lib.protocols.geometric.over_threshold.method import EveryUpdate, LocalTests

__all__ = ["EveryUpdate", "LocalTests"]
