"""Constraints fed event by event: every update is tested when it happens, as in the paper.

The pipeline works in epochs; this is the same protocol, letter for letter, with resolution at the very update
that breaks a constraint. It is for simulations and for comparing the paper's figures.

A site's adjusted sums stand in one row of an array. Members stand lower by a constant, so that a single
comparison, of the changed number with the site's limit, serves outsiders and members alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from monitoring_lib.engine import InnerNodes, LocalSites
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import COORDINATOR, Message
from monitoring_lib.protocols.topk.adjusted import UNIT
from monitoring_lib.protocols.topk.constraints import letters
from monitoring_lib.protocols.topk.constraints.method import Constraints
from monitoring_lib.protocols.topk.constraints.pads import is_pad, key_of_item, pads
from monitoring_lib.protocols.topk.constraints.site import ConstraintsSite
from monitoring_lib.settling import settle, stamp
from monitoring_lib.topology import Star

BIAS = 1 << 61
"""How much lower a member stands than its adjusted sum says."""


@numba.njit(cache=True)
def _count(standing: Any, limits: Any, members: Any, sites: Any, columns: Any, start: Any) -> Any:
    """Counts events until one breaks a constraint; its position, or their number if none does."""
    for at in range(start, len(sites)):
        site = sites[at]
        value = standing[site, columns[at]] + UNIT
        standing[site, columns[at]] = value
        if value > limits[site]:  # of an outsider; members may have grown since the limit was set
            lowest = standing[site, members[0]]
            for member in members:
                lowest = min(lowest, standing[site, member])
            limits[site] = lowest + BIAS
            if value > limits[site]:
                return at
    return len(sites)


@dataclass
class ArrayColumns:
    """Which column of the array an object has: the pads the first ones, then the items in the order given."""

    names: list[str]
    used: int
    """Columns behind this one hold only 0."""
    numbers: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.numbers = {name: number for number, name in enumerate(self.names)}


@dataclass
class FeedRow:
    """A site whose sums stand in a row: what `ConstraintsSite` needs of a state."""

    node: str
    columns: ArrayColumns
    standing: NDArray[np.int64]
    number: int = 0
    members: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    rate: int = 0
    relieved: bool = False
    own_factors: dict[str, int] = field(default_factory=dict)

    @property
    def sums(self) -> FeedRow:
        return self

    def get(self, name: str) -> int:
        """The sum of an object, without its factor."""
        return (self.of(name) - self.own_factors.get(name, 0)) // UNIT

    def of(self, name: str) -> int:
        column = self.columns.numbers[name]
        return int(self.standing[column]) + (BIAS if name in self.members else 0)

    def lowest_member(self) -> int | None:
        columns = [self.columns.numbers[name] for name in self.members]
        return int(self.standing[columns].min()) + BIAS if columns else None

    def outsiders_above(self, level: int) -> list[str]:
        """By name. An object that stands at 0 is held by the border like the nameless one."""
        row = self.standing[: self.columns.used]
        found = np.flatnonzero((row > level) & (row != 0) if level < 0 else row > level)
        return sorted(self.columns.names[column] for column in found)

    def best_outsiders(self, count: int) -> list[str]:
        """The `count` outsiders that stand highest above the nameless one, ties by name."""
        row, names = self.standing[: self.columns.used], self.columns.names
        lowest = max(1, np.partition(row, len(row) - count)[len(row) - count] if count < len(row) else 1)
        ahead = [names[column] for column in np.flatnonzero(row > lowest)]
        level = [names[column] for column in np.flatnonzero(row == lowest)]
        return sorted([*ahead, *nsmallest(count - len(ahead), level)])

    def border(self, asked: set[str]) -> int:
        columns = [self.columns.numbers[name] for name in asked]
        row = self.standing[: self.columns.used]
        kept = self.standing[columns]
        self.standing[columns] = -BIAS
        highest = int(row.max(initial=0))
        self.standing[columns] = kept
        return max(0, highest)


class RowRole(ConstraintsSite):
    """The site's role over a row."""

    def _view(self, state: Any) -> Any:
        return state

    def _shift(self, state: Any, member: str, amount: int) -> None:
        state.own_factors[member] = state.own_factors.get(member, 0) + amount
        state.standing[state.columns.numbers[member]] += amount

    def _install(self, state: Any, letter: letters.Factors) -> None:
        numbers = state.columns.numbers
        state.number = letter.number
        for name, factor in zip(letter.names, letter.factors, strict=True):
            self._shift(state, name, factor - state.own_factors.get(name, 0))
        state.standing[[numbers[name] for name in letter.entering]] -= BIAS
        state.standing[[numbers[name] for name in letter.leaving]] += BIAS
        state.members = sorted({*state.members, *letter.entering} - {*letter.leaving})

    def request(self, row: FeedRow, topology: Star, epoch: int) -> list[Message]:
        return stamp(topology, (), epoch, 0, row.node, self._test(row))  # type: ignore[arg-type]  # a row is no image


class EventFeed:
    """Sites and a coordinator that take in one event after the other; growing counts, the largest.

    `items` are all that can occur; in the order of their first event they cost least. The events of `history`
    are there when the coordinator first asks; without one, every early event changes the set. After every
    `push` the members are valid: ``V[t] + tolerance >= V[s]``.
    """

    def __init__(
        self,
        ask: Ask,
        sites: Sequence[str],
        items: Sequence[str],
        history: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]] | None = None,
    ) -> None:
        if ask.params.order != "largest" or ask.params.signed or ask.window.length or ask.window.reset:
            raise ValueError("ask: only growing counts of the largest can be fed event by event")
        self.method = Constraints(ask)
        self.role = self.method.site = RowRole(ask)
        self.sites = tuple(sites)
        self._topology = Star(self.sites)
        fillers = pads(ask.params.k)
        self._first_item = len(fillers)
        self._columns = ArrayColumns([*fillers, *map(key_of_item, items)], len(fillers))
        self._standing = np.zeros((len(sites), len(self._columns.names)), np.int64)
        self._rows = {site: FeedRow(site, self._columns, self._standing[at]) for at, site in enumerate(sites)}
        self._inner = InnerNodes(self.method)
        self._limits = np.zeros(len(sites), np.int64)
        self._epoch = 0
        self.resolutions = self.messages = self.entries = 0
        if history is not None:
            self._take(*history)
        self._resolve([])

    def _take(self, sites: NDArray[np.integer[Any]], items: NDArray[np.integer[Any]]) -> None:
        """What happened before the coordinator asked for the first time."""
        columns = items + self._first_item
        counts = np.bincount(sites * self._standing.shape[1] + columns, minlength=self._standing.size)
        self._standing += UNIT * counts.reshape(self._standing.shape)
        self._columns.used = max(self._columns.used, 1 + int(columns.max(initial=0)))

    @property
    def members(self) -> list[str]:
        return [name for name in self._inner.states[COORDINATOR].members if not is_pad(name)]

    def push(self, sites: NDArray[np.integer[Any]], items: NDArray[np.integer[Any]]) -> None:
        """Events, each the number of its site and of its item."""
        columns = items + self._first_item
        at = -1
        while True:
            start = at + 1
            at = _count(self._standing, self._limits, self._member_columns(), sites, columns, start)
            if start < len(columns):
                self._columns.used = max(self._columns.used, 1 + int(columns[start : at + 1].max()))
            if at == len(sites):
                return
            row = self._rows[self.sites[sites[at]]]
            self.resolutions += 1
            self._resolve(self.role.request(row, self._topology, self._epoch + 1))

    def _resolve(self, sent: list[Message]) -> None:
        self._epoch += 1
        moment = Moment(self._epoch, self._epoch, self._epoch + 1, 0, self._topology, self.sites)
        side = LocalSites(self.method, self._rows)  # rows stand in for states
        side.moment = moment
        self._inner.begin(moment)
        said = settle(side, self._inner, sent, self.method.most_rounds(len(self.sites)))
        self.messages += len(said)
        self.entries += sum(message.entries for message in said)
        self._limits[:] = self._standing[:, self._member_columns()].min(axis=1) + BIAS

    def _member_columns(self) -> NDArray[np.int64]:
        members = self._inner.states[COORDINATOR].members
        return np.array([self._columns.numbers[name] for name in members], np.int64)
