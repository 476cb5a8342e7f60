"""Which node is below which: even by fanout, as given, or by columns of the source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import Field

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.key_texts import ExpressionText, NameText
from monitoring_lib.methods import Keys
from monitoring_lib.network import COORDINATOR, site_of_node
from monitoring_lib.topology import Roster, Tree

ROOT = "root"
"""What a monitor's file calls the root in `parents`."""


class TreeParams(Keys):
    """One of three ways to say it; without any, an even tree of fanout 6."""

    fanout: int | None = Field(default=None, ge=2, description="at most so many children a node")
    parents: dict[NameText, NameText] | None = Field(
        default=None, min_length=1, description="site or inner node to the node above it; the last one is `root`"
    )
    levels: tuple[ExpressionText, ...] | None = Field(
        default=None, min_length=1, description="columns of the source, the outermost first"
    )


DEFAULT_FANOUT = 6


def tree_of(params: TreeParams, roster: Roster) -> Tree:
    """The tree over the sites known at an epoch. A site in no branch hangs on the root."""
    if params.levels is not None:
        return Tree.by_placement(roster)
    if params.parents is not None:
        return _given(params.parents, roster)
    return Tree.even(roster, params.fanout or DEFAULT_FANOUT)


def inner_node(name: str) -> str:
    """The node of an inner name of `parents`; no site's node can have it."""
    return COORDINATOR if name == ROOT else f"@node/{name}"


def _given(parents: Mapping[str, str], roster: Roster) -> Tree:
    """Only branches with sites; a site that has the name of an inner node hangs on that node."""
    inner = set(parents.values()) - {ROOT}
    above: dict[str, str] = {}
    for node in roster.nodes:
        site = site_of_node(node)
        name = site if site in inner else parents.get(site, ROOT)
        above[node] = inner_node(name)
        while name != ROOT:
            above[inner_node(name)] = inner_node(parents[name])
            name = parents[name]
    return Tree(above)


def tree_faults(params: TreeParams) -> Iterable[KeyFault]:
    """What is wrong with the tree as a whole."""
    said = [key for key in ("fanout", "parents", "levels") if getattr(params, key) is not None]
    if len(said) > 1:
        yield KeyFault(("tree",), f"says {' and '.join(said)}, and only one of them can hold", f"keep {said[0]} alone")
    if params.parents is not None:
        yield from _faults_of_parents(params.parents)


def _faults_of_parents(parents: Mapping[str, str]) -> Iterable[KeyFault]:
    if ROOT in parents:
        yield KeyFault(("tree", "parents", ROOT), "has a parent, and nothing is above the root", f"remove `{ROOT}:`")
        return
    for name in sorted(set(parents.values()) - parents.keys() - {ROOT}):
        below = next(child for child, parent in parents.items() if parent == name)
        yield KeyFault(
            ("tree", "parents", below), f"hangs on {name!r}, which hangs on nothing", f"add `{name}: {ROOT}`"
        )
    for start in sorted(parents):
        passed, name = {start}, parents[start]
        while name in parents and name not in passed:
            passed.add(name)
            name = parents[name]
        if name == start:
            yield KeyFault(
                ("tree", "parents", start), f"leads back to itself through {parents[start]!r}",
                f"let one node of the circle hang on `{ROOT}`",
            )  # fmt: skip
            return
