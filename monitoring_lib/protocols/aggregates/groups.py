"""Source aggregation (paper, section 5.2.1): a site keeps one filter for each query instead of one for each object.

The value of a group is the weighted sum, the least or the largest value of the site's objects of one query. Its
objects are still named once, with their first reading, so that they are counted and live at one site; after that only
groups are heard of. Groups stand in the same lists as objects: their names begin with a character that no object's
does there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from monitoring_lib.codec import Ints
from monitoring_lib.errors import DataError
from monitoring_lib.network import site_of_node

_PREFIX = "\0"


class GroupedObject(str):
    """An object of a site that aggregates: it takes part, its value stands in groups of that site."""

    node: str


class Group(str):
    """One query at one site."""

    __slots__ = ()

    @classmethod
    def of(cls, query: str, node: str) -> Group:
        return cls(f"{_PREFIX}{query}{_PREFIX}{node}")

    @property
    def query(self) -> str:
        return self[1:].partition(_PREFIX)[0]


def labelled(name: str, node: str) -> str:
    """A name as terms read it, of a site that aggregates."""
    if name.startswith(_PREFIX):
        return Group(name)
    label = GroupedObject(name)
    label.node = node
    return label


def refuse_prefixed(node: str, names: Iterable[str]) -> None:
    for name in names:
        if name.startswith(_PREFIX):
            raise DataError(
                f"site {site_of_node(node)!r}: object {name!r} begins with a NUL character, which names a query of a"
                " site that aggregates; let `object` name it otherwise, or drop the option `aggregate`"
            )


def new_groups(terms: Sequence[Any], node: str, names: Sequence[str]) -> list[str]:
    """Of queries of which an object has shown up at the site, and that have no group there yet."""
    there, objects = set(names), [name for name in names if not name.startswith(_PREFIX)]
    return [
        str(group) for term in terms
        if term.ask != "count" and (group := Group.of(term.name, node)) not in there
        and any(term.weight(name) for name in objects)
    ]  # fmt: skip


def group_series(
    terms: Sequence[Any], names: Sequence[str], values: Ints, firsts: Ints, largest: int
) -> tuple[Ints, Ints]:
    """The same arrays with the rows of groups: their values, and the ticks from which they take part."""
    values, firsts = values.copy(), firsts.copy()
    by_name = {term.name: term for term in terms}
    objects = [place for place, name in enumerate(names) if not name.startswith(_PREFIX)]
    ticks = np.arange(values.shape[1])
    for place, name in enumerate(names):
        term = by_name.get(Group(name).query) if name.startswith(_PREFIX) else None
        members = [at for at in objects if term is not None and term.weight(names[at])]
        if term is None or not members:
            continue  # of a query that is gone: its value stands still
        part = ticks >= firsts[members][:, None]
        if term.ask in ("min", "max"):
            blank = largest if term.ask == "min" else -largest
            ends = np.where(part, values[members], blank)
            values[place] = ends.min(axis=0) if term.ask == "min" else ends.max(axis=0)
        else:
            weights = np.array([term.weight(names[at]) for at in members], np.int64)
            most = max(abs(int(edge)) for edge in (values[members].min(), values[members].max()))
            if most * int(np.abs(weights).sum()) >= largest:
                raise DataError(
                    f"query {term.name!r}: a site's share of it is beyond 60 bits; lower the source's `scale`"
                )
            values[place] = weights @ np.where(part, values[members], 0)
        firsts[place] = firsts[members].min()
        values[place, : firsts[place]] = 0
    return values, firsts
