"""Reallocation of adjustment factors, in whole units, so that both invariants hold exactly.

Babcock and Olston, "Distributed Top-K Monitoring", section 3.2, Algorithm 3.1. Numbers are in units of 1/1024
of the scaled measure. An object's leeway is split by whole weights: every part is exact, no smaller for a
larger leeway, and right for a negative one; no factor is the remainder of the others.

Beyond the paper, a scope can hold loose objects: outsiders known at some sites only, because they were found
by a search. They are not spread over all nodes: where they stand above the border they are brought down to
it, and the coordinator takes the difference, as long as it fits below the members there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from monitoring_lib.network import COORDINATOR


@dataclass(slots=True)
class ResolutionScope:
    """What one resolution is about: objects, and what each participating site has said of them.

    `borders` bounds the adjusted sum of every object that the site has not told of, be it in the scope or not.
    """

    names: set[str]
    loose: set[str] = field(default_factory=set)
    sums: dict[str, dict[str, int]] = field(default_factory=dict)
    borders: dict[str, int] = field(default_factory=dict)

    def adopt(self, names: Iterable[str]) -> None:
        """Loose objects that all sites have told of are spread like the others."""
        adopted = set(names)
        self.loose -= adopted
        self.names |= adopted

    def is_told(self, name: str) -> bool:
        return all(name in told for told in self.sums.values())

    def total(self, name: str) -> int:
        return sum(told[name] for told in self.sums.values())


@dataclass(frozen=True, slots=True)
class Split:
    """Weights by node, the coordinator's first; a leeway of L gives each its part of L."""

    weights: Mapping[str, int]

    def parts(self, leeway: int) -> dict[str, int]:
        """``sum == leeway``; each part grows with the leeway."""
        whole, rest = divmod(leeway, sum(self.weights.values()))
        parts = {node: whole * weight for node, weight in self.weights.items()}
        for node, weight in self.weights.items():
            if rest <= weight:
                parts[node] += rest
                break
            parts[node] += weight
            rest -= weight
        return parts


def split_leeway(sites: Iterable[str], rates: Mapping[str, int] | None, held_back: tuple[int, int]) -> Split:
    """Weights of the sites by update rate (None: even), and the coordinator's share `held_back` of the whole."""
    weights = {site: max(1, rates.get(site, 0)) if rates is not None else 1 for site in sorted(sites)}
    share, whole = held_back
    own = share * sum(weights.values())
    return Split({COORDINATOR: own, **{site: (whole - share) * weight for site, weight in weights.items()}})


def validates(leeways: Mapping[str, int], members: Collection[str]) -> bool:
    """Whether the members stay members by what the participating nodes know, the tolerance counted in."""
    lowest = min((leeways[name] for name in members), default=0)
    return lowest >= 0 and all(lowest >= leeways[name] for name in leeways if name not in members)


class Reallocation:
    """New factors for the objects of a scope at its sites and at the coordinator.

    `factor` gives the old ones by node and object; `held` bounds the coordinator's factor of every object
    outside of the scope, as the borders do at the sites.
    """

    def __init__(
        self,
        scope: ResolutionScope,
        factor: Callable[[str, str], int],
        held: int,
        tolerance: int,
        members: Collection[str],
        split: Split,
    ) -> None:
        self.scope = scope
        self.members = members
        self.tolerance = tolerance
        self._factor = factor
        self._split = split
        self._borders = {COORDINATOR: held, **scope.borders}
        self.above_borders = {name: self._above_borders(name) for name in scope.names}
        self.leeways = {
            name: above + (tolerance if name in members else 0) for name, above in self.above_borders.items()
        }
        self.lowest = min((self.leeways[name] for name in members), default=0)
        self._room = split.parts(max(0, self.lowest))
        self._excess, self._standing_out = self._loose()

    def _above_borders(self, name: str) -> int:
        """The object's adjusted sum over the participating nodes, less the borders."""
        total = self._factor(COORDINATOR, name) - self._borders[COORDINATOR]
        for site, border in self.scope.borders.items():
            told = self.scope.sums[site]
            if name in told:  # elsewhere the border stands in for it
                total += told[name] + self._factor(site, name) - border
        return total

    def _loose(self) -> tuple[dict[str, int], dict[str, list[str]]]:
        """How far each loose object stands above the borders, and at which sites it does."""
        held = self._borders[COORDINATOR]
        excess = {name: self._factor(COORDINATOR, name) - held for name in self.scope.loose}
        sites: dict[str, list[str]] = {name: [] for name in self.scope.loose}
        for site, border in sorted(self.scope.borders.items()) if excess else ():
            for name, value in self.scope.sums[site].items():
                if name in excess:
                    above = value + self._factor(site, name) - border
                    if above > 0:
                        excess[name] += above
                        sites[name].append(site)
        return excess, sites

    @cached_property
    def _parts(self) -> dict[str, dict[str, int]]:
        return {name: self._split.parts(leeway) for name, leeway in self.leeways.items()}

    def doubtful(self) -> list[str]:
        """Loose objects that do not fit below the members where they are known; those furthest above first."""
        found = [name for name, excess in self._excess.items() if excess > max(0, self._room_for(name))]
        return sorted(found, key=lambda name: (-self._excess[name], name))

    def _room_for(self, name: str) -> int:
        return self._room.get(COORDINATOR, 0) + sum(self._room.get(site, 0) for site in self._standing_out[name])

    def assign(self) -> dict[tuple[str, str], int]:
        """The new factors by (node, object). Each object's sum of factors stays what it was."""
        fresh: dict[tuple[str, str], int] = {}
        for name, parts in self._parts.items():
            held = self._borders[COORDINATOR] + parts.get(COORDINATOR, 0)
            fresh[COORDINATOR, name] = held - (self.tolerance if name in self.members else 0)
            for site, border in self.scope.borders.items():
                told, part = self.scope.sums[site], parts.get(site, 0)
                if name in told:
                    fresh[site, name] = border - told[name] + part
                else:
                    fresh[site, name] = self._factor(site, name) + part
        for name in self.scope.loose:
            fresh.update(self._place_loose(name))
        return fresh

    def _place_loose(self, name: str) -> dict[tuple[str, str], int]:
        """Its excess is shared by the coordinator and the sites where it stands out, as their room allows."""
        excess, room, given, before = self._excess[name], self._room_for(name), 0, 0
        fresh: dict[tuple[str, str], int] = {}
        for site in self._standing_out[name]:
            before += self._room.get(site, 0)
            part = (excess * before // room if excess > 0 and room > 0 else 0) - given
            given += part
            fresh[site, name] = self._borders[site] - self.scope.sums[site][name] + part
        fresh[COORDINATOR, name] = self._borders[COORDINATOR] + excess - given
        return fresh

    def slacks(self, others_outside: bool) -> dict[str, int]:
        """By node, how far its lowest member lies above its highest outsider; the coordinator's is Invariant 2's.

        The border stands for objects outside of the scope, if there are any. Without outsiders there is no slack.
        """
        inside = [parts for name, parts in self._parts.items() if name in self.members]
        outside = [parts for name, parts in self._parts.items() if name not in self.members]
        if others_outside:
            outside.append({})
        highest: dict[str, int] = {}
        for node in self._borders if outside else ():
            highest[node] = max(part.get(node, 0) for part in outside)
        for name in self.scope.loose:
            for (node, _), factor in self._place_loose(name).items():
                value = factor if node == COORDINATOR else factor + self.scope.sums[node][name]
                highest[node] = max(highest.get(node, 0), value - self._borders[node])
        return {node: min(part.get(node, 0) for part in inside) - level for node, level in highest.items() if inside}
