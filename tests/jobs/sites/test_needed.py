"""What Spark's tasks are sent about sites."""

from __future__ import annotations

from jobs.sites.needed import Needed
from monitoring_lib.epochs import Clock
from monitoring_lib.network import Message, node_of_site


def test_a_letter_to_many_sites_is_sent_to_spark_once_and_without_the_list_of_its_receivers() -> None:
    sites = [f"site {at}" for at in range(50)]
    nodes = tuple(map(node_of_site, sites))
    letters = [Message(3, 0, node, 0, nodes, "list", "changed", 50, b"all of it") for node in nodes]
    needed = Needed(lake=None, source="shop", clock=Clock(0, 1))  # type: ignore[arg-type]  # no table is read here
    for letter in letters:
        for site in sites:
            needed.message(0, site, "received", letter)
    assert [row["sender"] for row in needed.letters] == list(nodes)
    assert {row["receivers"] for row in needed.letters} == {None}
    assert needed.heard == [
        (0, site, node_of_site(site), number) for number in range(len(letters)) for site in sites
    ]  # fmt: skip
    assert not needed.here


def test_what_a_site_sent_keeps_its_receivers_because_it_is_compared_in_every_field() -> None:
    needed = Needed(lake=None, source="shop", clock=Clock(0, 1))  # type: ignore[arg-type]
    needed.message(0, "north", "sent", Message(3, 1, "north", 0, ("south", "west"), "list", "changed", 2, b"it"))
    [row] = needed.here
    assert (row["kind"], row["receivers"], row["epoch"]) == ("sent", ("south", "west"), 3)
