"""The methods of this family."""

from monitoring_lib.protocols.geometric import over_threshold, self_join

METHODS = (
    self_join.Convex,
    self_join.HalfSpace,
    self_join.Arrays,
    self_join.EveryUpdate,
    over_threshold.LocalTests,
    over_threshold.EveryUpdate,
)
