"""Full lists: the baseline in which every site sends all its sums to every other."""

from monitoring_lib.protocols.top_k_everywhere.full_lists.method import FullLists

__all__ = ["FullLists"]
