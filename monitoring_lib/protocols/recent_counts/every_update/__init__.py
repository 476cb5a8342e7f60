"""Every update: the baseline in which each count of a tick and item crosses."""

from monitoring_lib.protocols.recent_counts.every_update.method import EveryUpdate

__all__ = ["EveryUpdate"]
