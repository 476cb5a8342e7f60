"""Two tiny methods that show what the interfaces carry: a mesh of peers, and a tree of three levels."""

from tests.laws.toys.gossip import Gossip
from tests.laws.toys.summing_tree import SummingTree

TOYS = (Gossip, SummingTree)
