"""Shared bits: FM sketches of dyadic ranges at the coordinator."""

from monitoring_lib.protocols.distinct_pairs.quantile_bits.method import QuantileBits

__all__ = ["QuantileBits"]
