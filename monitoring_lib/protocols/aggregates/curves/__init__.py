"""Widths from rate curves: each source says how many messages it would send at other widths."""

from monitoring_lib.protocols.aggregates.curves.method import RateCurves

__all__ = ["RateCurves"]
