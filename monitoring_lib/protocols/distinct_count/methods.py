"""The methods of this family."""

from monitoring_lib.protocols.distinct_count.exact import Exact
from monitoring_lib.protocols.distinct_count.lazily_shared_sketch import LazilySharedSketch
from monitoring_lib.protocols.distinct_count.no_sharing import NoSharing
from monitoring_lib.protocols.distinct_count.repaid_sharing import RepaidSharing
from monitoring_lib.protocols.distinct_count.shared_count import SharedCount
from monitoring_lib.protocols.distinct_count.shared_sketch import SharedSketch

METHODS = (RepaidSharing, NoSharing, SharedCount, SharedSketch, LazilySharedSketch, Exact)
