"""Shared bits: an array of FM sketches at the coordinator, with the names of the items that set its bits."""

from monitoring_lib.protocols.distinct_pairs.heavy_bits.method import HeavyBits

__all__ = ["HeavyBits"]
