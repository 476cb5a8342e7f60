"""Top-k monitoring: the k items with the largest (or smallest) sums over all sites."""

from monitoring_lib.protocols.topk.caching import Caching
from monitoring_lib.protocols.topk.margins import Margins

METHODS = (Caching, Margins)
