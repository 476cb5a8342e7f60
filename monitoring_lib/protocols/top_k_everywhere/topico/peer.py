"""TOPiCo, at a site: names its own best items, answers those that others name, and publishes the best totals.

"TOPiCo: Detecting Most Frequent Items from Multiple High-Rate Event Streams" (LEADS deliverable, Appendix A). The
order of rounds, telling own items from others' and the early stop are ours: see the README.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.network import Delivery, Post
from monitoring_lib.protocols.top_k_everywhere.best import Pair
from monitoring_lib.protocols.top_k_everywhere.question import exact_lists
from monitoring_lib.protocols.top_k_everywhere.sums import absorb
from monitoring_lib.protocols.top_k_everywhere.topico.letters import Candidates
from monitoring_lib.protocols.top_k_everywhere.topico.lists import Lists
from monitoring_lib.protocols.top_k_everywhere.topico.state import TopicoState
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tally import Tally
from monitoring_lib.unstored import Unstored

SURE = 3
"""Lists sent in an epoch after which every view is exact, whatever happened."""


class TopicoPeer(SiteRole[TopicoState]):
    """After at most three lists a site and epoch the best k totals of the lists are the exact top k."""

    State = TopicoState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        options = ask.options
        self._most_sends = max(options.rounds, SURE) if options.early_stop else options.rounds
        self._unstored: Unstored[Lists] = Unstored()

    def start(self, node: str) -> TopicoState:
        return TopicoState(node)

    def observe(self, state: TopicoState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if state.period != moment.period:
            state.period, state.holders = moment.period, []
            for tally in (state.sums, state.lists, state.unlisted):
                tally.clear()
            self._unstored.drop(state)
        lists = self._lists(state, moment)
        if state.node in moment.returning:  # it does not know who was told what, nor which of its answers still hold
            state.holders = []
            lists.forget([state.node])
        state.sends, state.fresh = 0, []
        lists.forget([site for site in state.unlisted if site not in moment.sites])
        absorb(self.ask, state.node, state.sums, arriving, expiring)
        return self._speak(state, moment, lists)

    def receive(self, state: TopicoState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        lists = self._lists(state, moment)
        fresh = set(state.fresh)
        new: set[str] = set()
        for delivery in inbox:
            letter = delivery.letter
            assert isinstance(letter, Candidates)
            new.update(lists.unheard(letter))
        for delivery in inbox:
            assert isinstance(delivery.letter, Candidates)
            lists.take(delivery.sender, delivery.letter)
        state.fresh = []
        if state.node in moment.missing or state.sends >= self._most_sends:
            return ()
        # Sites that are back have not heard what was named meanwhile: their first lists do not answer it.
        may_stop = self.ask.options.early_stop and not (round_ == 1 and moment.returning)
        if may_stop and lists.settled(self.ask.params.k, moment.present, fresh | new):
            return ()
        return self._speak(state, moment, lists)

    def _speak(self, state: TopicoState, moment: Moment, lists: Lists) -> Iterable[Post]:
        """Sends what has changed in the own list, and the whole of it to those who do not hold it."""
        letter = self._changes(state, lists)
        others = [node for node in moment.present if node != state.node]
        holders = set(state.holders)
        strangers = [node for node in others if node not in holders]
        changed = bool(letter.names or letter.dropped)
        changed |= letter.largest_unlisted != state.unlisted.get(state.node) or state.node not in state.unlisted
        state.fresh = sorted({*state.fresh, *lists.unheard(letter)})
        lists.take(state.node, letter)
        state.sends += 1
        if not self.ask.options.changes_only and changed:
            strangers, others = others, []
        known = tuple(node for node in others if node in holders)
        posts = [Post(known, letter, "changed")] if changed and known else []
        if strangers:
            posts.append(Post(tuple(strangers), self._whole(state, lists), "whole list"))
        if changed:
            state.holders = sorted(moment.present)
        elif strangers:
            state.holders = sorted({*state.holders, *strangers})
        return posts

    def _changes(self, state: TopicoState, lists: Lists) -> Candidates:
        """The list as it should be against the list as it was last sent."""
        own, largest_unlisted = self._own(state, lists)
        named, node = {item for item, _ in own}, state.node
        asked = [item for item in lists.named_by_others(node) if item not in named]
        replies = [(item, value) for item, value in zip(asked, state.sums.get_all(asked), strict=True) if value]
        dropped = lists.of_site.get(node, {}).keys() - named - {item for item, _ in replies}
        mine = sorted(pair for pair in own if lists.code(node, pair[0]) != 2 * pair[1] + 1)
        others = sorted(pair for pair in replies if lists.code(node, pair[0]) != 2 * pair[1])
        pairs = [*mine, *others]
        return Candidates(
            [item for item, _ in pairs], [value for _, value in pairs], len(mine), largest_unlisted, sorted(dropped)
        )

    def _whole(self, state: TopicoState, lists: Lists) -> Candidates:
        """The list as it stands now."""
        entries = [(item, lists.code(state.node, item) or 0) for item in sorted(lists.of_site.get(state.node, ()))]
        entries.sort(key=lambda entry: (1 - (entry[1] & 1), entry[0]))
        return Candidates(
            [item for item, _ in entries], [code >> 1 for _, code in entries], sum(code & 1 for _, code in entries),
            state.unlisted.get(state.node), whole=True,
        )  # fmt: skip

    def _own(self, state: TopicoState, lists: Lists) -> tuple[list[Pair], int]:
        """The first k by sum, further ones while ``sum * lists >= k-th total``; and the largest sum behind them.

        The k-th total is that of the lists with the own one as it will be: it is asked for again until it stays, so
        that a site which alone has changed needs no other round for it.
        """
        k, held = self.ask.params.k, max(1, len(state.unlisted) + (state.node not in state.unlisted))
        mine = set(lists.of_site.get(state.node, ()))
        length, before = k, -1
        while True:
            own, behind = _largest(state.sums, length)
            if length == before:
                return own, behind
            before = length
            changed = mine.union(item for item, _ in own)
            totals = [self._as_it_will_be(state, lists, item) for item in changed]
            totals += [total for item, total in lists.totals.items() if item not in changed]
            kth = _kth(k, totals)
            if kth:
                length = max(length, _count_at_least(state.sums, -(-kth // held)))

    def _as_it_will_be(self, state: TopicoState, lists: Lists, item: str) -> int:
        """The total of an item of which the own list will hold the sum of now."""
        others = lists.totals.get(item, 0) - ((lists.code(state.node, item) or 0) >> 1)
        return int(others + state.sums.get(item))

    def answers(self, state: TopicoState, moment: Moment) -> Answers:
        lists, scale, partial = self._lists(state, moment), self.ask.scale, bool(moment.missing)
        rows = []
        for rank, (item, total) in enumerate(lists.best(self.ask.params.k), 1):
            low = high = total / scale
            if partial:
                here = sum(value for site, value in lists.sums_of(item).items() if site not in moment.missing)
                low, high = here / scale, math.inf
            elif not exact_lists(self.ask):
                high = math.inf
            rows.append(Answer(state.node, moment.end, item, rank, total / scale, low, high, partial=partial))
        return Answers.of(rows)

    def certificate(self, state: TopicoState, moment: Moment) -> str:
        reach = sum(state.unlisted.values()) / self.ask.scale
        return (
            f"The site holds the last list of {len(state.unlisted):,} sites, with the sum of every item that any of"
            f" them names. An item that no site names has at most {reach:,g} over all of them."
        )

    def faults(self, state: TopicoState) -> list[str]:
        return [
            f"{site!r} lists {item[:80]!r} with a sum of {code >> 1}: its list is not held, or the sum is not above 0"
            for (site, item), code in state.lists.items()
            if site not in state.unlisted or code < 2
        ]

    def _lists(self, state: TopicoState, moment: Moment) -> Lists:
        found = self._unstored.up_to(state, moment.epoch)
        return self._unstored.put(state, moment.epoch, Lists(state) if found is None else found)


def _largest(sums: Tally, count: int) -> tuple[list[Pair], int]:
    """The `count` largest sums with their items, ties by the smallest item, and the largest of the rest."""
    numbers = _numbers(sums)
    if len(numbers) > count:
        nth = np.partition(numbers, len(numbers) - count - 1)[len(numbers) - count - 1]
        at = np.flatnonzero(numbers >= nth)
    else:
        at = np.arange(len(numbers))
    names = list(sums)
    ranked = sorted((-int(numbers[i]), names[i]) for i in at)
    behind = -ranked[count][0] if len(ranked) > count else 0
    return [(name, -value) for value, name in ranked[:count]], behind


def _count_at_least(sums: Tally, least: int) -> int:
    return int((_numbers(sums) >= least).sum())


def _numbers(sums: Tally) -> NDArray[Any]:
    """As whole numbers of 64 bits, or of Python's where a window's sum does not fit."""
    try:
        return np.fromiter(sums.values(), np.int64, len(sums))
    except OverflowError:
        return np.array(list(sums.values()), object)


def _kth(k: int, totals: list[int]) -> int:
    """The k-th largest, 0 where there are fewer."""
    return heapq.nlargest(k, totals)[-1] if len(totals) >= k else 0
