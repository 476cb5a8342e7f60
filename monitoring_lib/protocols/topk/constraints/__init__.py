"""Constraints: the paper's protocol of arithmetic constraints and adjustment factors."""

from monitoring_lib.protocols.topk.constraints.method import Constraints, ConstraintsOptions

__all__ = ["Constraints", "ConstraintsOptions"]
