"""The methods of this family."""

from monitoring_lib.protocols.recent_counts.every_update import EveryUpdate
from monitoring_lib.protocols.recent_counts.merged import Merged

METHODS = (Merged, EveryUpdate)
