"""Full lists, at a site: sends all its sums, holds those of all others, publishes the best totals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.codec import Image
from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.network import Delivery, Letter, Post
from monitoring_lib.protocols.top_k_everywhere.best import Pair, best
from monitoring_lib.protocols.top_k_everywhere.sums import absorb
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class AllSums(Letter, tag=1, version=1):
    """All sums of the sender."""

    sums: Counts

    @property
    def entries(self) -> int:
        return len(self.sums)


@dataclass(slots=True)
class FullListsState(Image, tag=2, version=1):
    """The site's own sums, the last sums of every site, its own as sent, and who holds those."""

    node: str
    period: int = 0
    sums: Tally = field(default_factory=Tally)
    lists: dict[str, Counts] = field(default_factory=dict)
    holders: list[str] = field(default_factory=list)


class FullListsPeer(SiteRole[FullListsState]):
    """Exact after one round."""

    State = FullListsState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._lists: list[Counts] = []
        self._ranked: list[Pair] = []

    def start(self, node: str) -> FullListsState:
        return FullListsState(node)

    def observe(self, state: FullListsState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if state.period != moment.period:
            state.period, state.lists, state.holders = moment.period, {}, []
            state.sums.clear()
        for site in state.lists.keys() - set(moment.sites):
            del state.lists[site]
        touched = absorb(self.ask, state.node, state.sums, arriving, expiring)
        others = {node for node in moment.present if node != state.node}
        if touched or state.node not in state.lists:
            state.lists[state.node] = Counts.of_pairs(state.sums.items())
            receivers = others
            state.holders = []
        else:
            receivers = others - set(state.holders)
        state.holders = sorted({*state.holders, *receivers})
        if receivers:
            yield Post(tuple(receivers), AllSums(state.lists[state.node]), "all sums")

    def receive(self, state: FullListsState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        for delivery in inbox:
            assert isinstance(delivery.letter, AllSums)
            state.lists[delivery.sender] = delivery.letter.sums
        return ()

    def answers(self, state: FullListsState, moment: Moment) -> Answers:
        scale, partial = self.ask.scale, bool(moment.missing)
        return Answers.of(
            Answer(
                state.node, moment.end, item, rank, total / scale,
                self._present(state, moment, item) / scale if partial else total / scale,
                float("inf") if partial else total / scale, partial=partial,
            )
            for rank, (item, total) in enumerate(self._best(state), 1)
        )  # fmt: skip

    def certificate(self, state: FullListsState, moment: Moment) -> str:
        return f"The site holds every sum of {len(state.lists):,} sites, as each last sent them."

    def _present(self, state: FullListsState, moment: Moment, item: str) -> int:
        return sum(counts.estimate(item) for site, counts in state.lists.items() if site not in moment.missing)

    def _best(self, state: FullListsState) -> list[Pair]:
        """Peers that were sent the same lists hold the same objects in one process: their totals are added up once."""
        lists = [state.lists[site] for site in sorted(state.lists)]
        if len(lists) != len(self._lists) or any(a is not b for a, b in zip(lists, self._lists, strict=True)):
            self._lists, self._ranked = lists, best(Counts.merge_all(lists) if lists else (), self.ask.params.k)
        return self._ranked
