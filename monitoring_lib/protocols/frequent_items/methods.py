"""The methods of this family."""

from monitoring_lib.protocols.frequent_items.bounds import Bounds
from monitoring_lib.protocols.frequent_items.gradient import Gradient

METHODS = (Bounds, Gradient)
