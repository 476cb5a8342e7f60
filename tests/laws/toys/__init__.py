"""Tiny families that show what the interfaces carry, each found by the laws like an installed one."""

from tests.laws.toys import (
    adding_up,
    distinct_items,
    event_total,
    shared_total,
    sketched_ranges,
    telling_names,
    telling_pairs,
)
from tests.laws.toys.gossip import Gossip
from tests.laws.toys.summing_tree import SummingTree

TOYS = (
    Gossip, SummingTree, *telling_pairs.METHODS, *adding_up.METHODS, *distinct_items.METHODS, *telling_names.METHODS,
    *sketched_ranges.METHODS, *event_total.METHODS, *shared_total.METHODS,
)  # fmt: skip
