"""Who may send to whom: the sites that are known, and the star, the mesh or the tree that they are part of."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from monitoring_lib.network import COORDINATOR, is_site


@dataclass(frozen=True)
class Roster:
    """The sites known at an epoch, as nodes in the order of their joining; those of one epoch by name.

    `placements` holds, for a method that asks for it, the texts that say where in the topology a site belongs.
    """

    nodes: tuple[str, ...] = ()
    placements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """By name."""
        return tuple(sorted(self.nodes))

    def joined(self, new: Mapping[str, tuple[str, ...]]) -> Roster:
        """With the nodes of these that are not known yet; the roster itself if all are."""
        unknown = sorted(new.keys() - self.placements.keys())
        if not unknown:
            return self
        return Roster((*self.nodes, *unknown), {**self.placements, **{node: new[node] for node in unknown}})

    def without(self, gone: Collection[str]) -> Roster:
        """Without nodes that have left."""
        kept = tuple(node for node in self.nodes if node not in gone)
        return Roster(kept, {node: self.placements[node] for node in kept})


class Topology(ABC):
    """The nodes and their edges; edges carry messages both ways."""

    @property
    @abstractmethod
    def nodes(self) -> Sequence[str]: ...

    @abstractmethod
    def neighbours(self, node: str) -> Sequence[str]: ...

    @abstractmethod
    def linked(self, one: str, other: str) -> bool: ...

    @cached_property
    def members(self) -> frozenset[str]:
        return frozenset(self.nodes)

    @cached_property
    def inner(self) -> Sequence[str]:
        """The nodes that are no sites, those nearest to the sites first."""
        return [node for node in self.nodes if not is_site(node)]

    @property
    def depth(self) -> int:
        """The rounds that a message needs from the farthest site to the coordinator; 0 without one."""
        return 1 if self.inner else 0


@dataclass(frozen=True)
class Star(Topology):
    """Every site and the coordinator."""

    sites: tuple[str, ...]

    @property
    def nodes(self) -> Sequence[str]:
        return (*self.sites, COORDINATOR)

    def neighbours(self, node: str) -> Sequence[str]:
        return self.sites if node == COORDINATOR else (COORDINATOR,)

    def linked(self, one: str, other: str) -> bool:
        return (one == COORDINATOR) != (other == COORDINATOR) and {one, other} <= self.members


@dataclass(frozen=True)
class Mesh(Topology):
    """Every site and every other; nobody in the middle."""

    sites: tuple[str, ...]

    @property
    def nodes(self) -> Sequence[str]:
        return self.sites

    def neighbours(self, node: str) -> Sequence[str]:
        return tuple(site for site in self.sites if site != node)

    def linked(self, one: str, other: str) -> bool:
        return one != other and {one, other} <= self.members


@dataclass(frozen=True)
class Tree(Topology):
    """Sites are leaves; the root is the coordinator. `parents` maps every node but the root to its parent."""

    parents: Mapping[str, str]

    @classmethod
    def even(cls, roster: Roster, fanout: int) -> Tree:
        """At most `fanout` children a node. Sites fill the groups in the order of their joining.

        A site that joins later takes the next free place, so that no other site changes its group; where the
        tree needs another level, it is put between the root and the groups below it.
        """
        if fanout < 2:
            raise ValueError(f"fanout: a tree needs at least 2 children a node, found {fanout}")
        parents: dict[str, str] = {}
        level, depth = list(roster.nodes), 0
        while len(level) > fanout:
            depth += 1
            above = [f"@tree/{depth}/{number}" for number in range((len(level) + fanout - 1) // fanout)]
            parents.update({node: above[at // fanout] for at, node in enumerate(level)})
            level = above
        parents.update(dict.fromkeys(level, COORDINATOR))
        return cls(parents)

    @classmethod
    def by_placement(cls, roster: Roster) -> Tree:
        """Root, then a node for each first text, below it one for each first and second text, and so on.

        A site hangs on the node of its texts up to the first empty one: without any, on the root.
        """
        parents: dict[str, str] = {}
        for node in roster.nodes:
            above = COORDINATOR
            for depth, text in enumerate(roster.placements.get(node, ())):
                if not text:
                    break
                branch = f"@branch/{json.dumps(roster.placements[node][: depth + 1], ensure_ascii=False)}"
                parents[branch], above = above, branch
            parents[node] = above
        return cls(parents)

    @property
    def nodes(self) -> Sequence[str]:
        return (*self.parents, COORDINATOR)

    @cached_property
    def inner(self) -> Sequence[str]:
        found = [node for node in self.nodes if not is_site(node)]
        return sorted(found, key=lambda node: (self.height(node), node))

    @cached_property
    def _children(self) -> Mapping[str, list[str]]:
        children: dict[str, list[str]] = {}
        for child, parent in self.parents.items():
            children.setdefault(parent, []).append(child)
        return children

    @cached_property
    def _heights(self) -> Mapping[str, int]:
        heights: dict[str, int] = {COORDINATOR: 1}
        for start in self.parents:
            node, height = start, 0
            while node != COORDINATOR:
                heights[node] = max(heights.get(node, 0 if is_site(node) else 1), height)
                node, height = self.parents[node], height + 1
                if height > len(self.parents) + 1:
                    raise ValueError(f"parents: {start!r} does not lead to the root")
            heights[node] = max(heights[node], height)
        return heights

    def children(self, node: str) -> Sequence[str]:
        return self._children.get(node, [])

    def level(self, node: str) -> int:
        """Steps from the root."""
        level = 0
        while node != COORDINATOR:
            node, level = self.parents[node], level + 1
        return level

    def height(self, node: str) -> int:
        """Steps to the farthest site below; at least 1 for a node that is no site."""
        return self._heights[node]

    @property
    def depth(self) -> int:
        return self.height(COORDINATOR)

    def neighbours(self, node: str) -> Sequence[str]:
        parent = self.parents.get(node)
        return [*self.children(node), *([parent] if parent is not None else [])]

    def linked(self, one: str, other: str) -> bool:
        return self.parents.get(one) == other or self.parents.get(other) == one
