"""Merged: sites keep ECM sketches, which are merged every so many epochs."""

from monitoring_lib.protocols.recent_counts.merged.method import Merged

__all__ = ["Merged"]
