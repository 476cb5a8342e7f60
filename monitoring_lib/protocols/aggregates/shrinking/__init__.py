"""Widths that shrink at both ends, and the freed width given to objects that need it: text, quiet."""

from monitoring_lib.protocols.aggregates.shrinking.method import Quiet, TextMethod

__all__ = ["Quiet", "TextMethod"]
