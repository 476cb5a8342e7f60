"""The methods of this family."""

from monitoring_lib.protocols.aggregates.curves import RateCurves
from monitoring_lib.protocols.aggregates.fixed import NoFilter, Optimised, Uniform, Waterfill
from monitoring_lib.protocols.aggregates.shrinking import Quiet, TextMethod

METHODS = (Waterfill, Uniform, NoFilter, TextMethod, Quiet, RateCurves, Optimised)
