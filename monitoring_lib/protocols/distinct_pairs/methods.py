"""The methods of this family."""

from monitoring_lib.protocols.distinct_pairs.exact import ExactHeavyHitters, ExactQuantiles
from monitoring_lib.protocols.distinct_pairs.heavy_bits import HeavyBits
from monitoring_lib.protocols.distinct_pairs.quantile_bits import QuantileBits

METHODS = (HeavyBits, ExactHeavyHitters, QuantileBits, ExactQuantiles)
