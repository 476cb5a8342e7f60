"""The methods of this family."""

from monitoring_lib.protocols.top_k_everywhere.full_lists import FullLists
from monitoring_lib.protocols.top_k_everywhere.topico import Topico

METHODS = (Topico, FullLists)
