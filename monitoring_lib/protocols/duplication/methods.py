"""The methods of this family."""

from monitoring_lib.protocols.duplication.exact import Exact
from monitoring_lib.protocols.duplication.sampled import GlobalCounts, LazyCounts, LocalCounts

METHODS = (LocalCounts, GlobalCounts, LazyCounts, Exact)
