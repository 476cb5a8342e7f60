"""Margins: sites tell large sums only as closely as the answer needs."""

from monitoring_lib.protocols.topk.margins.method import Margins, MarginsOptions

__all__ = ["Margins", "MarginsOptions"]
