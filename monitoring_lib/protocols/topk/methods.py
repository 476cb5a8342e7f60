"""The methods of this family."""

from monitoring_lib.protocols.topk.caching import Caching
from monitoring_lib.protocols.topk.constraints import Constraints
from monitoring_lib.protocols.topk.margins import Margins
from monitoring_lib.protocols.topk.requery import Requery

METHODS = (Margins, Constraints, Caching, Requery)
