"""All candidate lists that a peer holds, by item: the totals, who lists what, and when it is safe to stop."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from monitoring_lib.protocols.top_k_everywhere.best import Pair, best
from monitoring_lib.protocols.top_k_everywhere.topico.letters import Candidates
from monitoring_lib.protocols.top_k_everywhere.topico.state import TopicoState


class Lists:
    """The lists of a state, by item and by site. Built of the state, kept up with it, and stored nowhere."""

    def __init__(self, state: TopicoState) -> None:
        self.state = state
        self.totals: dict[str, int] = {}
        """Of all items that some list holds: sums of a list are above 0."""
        self.namers: dict[str, int] = {}
        """How many sites name an item on their own account, if any do."""
        self.of_site: dict[str, dict[str, int]] = {}
        """Each site's list, as the state codes it."""
        stored: dict[str, list[Pair]] = {}
        for (site, item), code in state.lists.items():
            stored.setdefault(site, []).append((item, code))
        for site, entries in stored.items():
            self._enter(site, entries)

    def _enter(self, site: str, entries: Iterable[Pair]) -> None:
        """Items with their codes, new ones and changed ones."""
        own, totals, namers = self.of_site.setdefault(site, {}), self.totals, self.namers
        for item, code in entries:
            before = own.get(item, 0)
            own[item] = code
            totals[item] = totals.get(item, 0) + (code >> 1) - (before >> 1)
            if (code ^ before) & 1:
                named = namers.get(item, 0) + (code & 1) - (before & 1)
                if named:
                    namers[item] = named
                else:
                    del namers[item]

    def _leave(self, site: str, items: Collection[str]) -> None:
        own, totals, namers = self.of_site[site], self.totals, self.namers
        for item in items:
            code = own.pop(item)
            total = totals[item] - (code >> 1)
            if total:
                totals[item] = total
            else:
                del totals[item]
            if code & 1:
                named = namers[item] - 1
                if named:
                    namers[item] = named
                else:
                    del namers[item]
        self.state.lists.drop_all([(site, item) for item in items])

    def unheard(self, letter: Candidates) -> list[str]:
        """The items that a letter names on its site's own account and that nobody has named so far."""
        return [item for item in letter.names[: letter.own] if item not in self.namers]

    def take(self, site: str, letter: Candidates) -> None:
        """Brings a site's list up to date."""
        held = self.of_site.setdefault(site, {})
        gone = held.keys() - set(letter.names) if letter.whole else held.keys() & set(letter.dropped)
        self._leave(site, gone)
        codes = [2 * value + (at < letter.own) for at, value in enumerate(letter.sums)]
        self._enter(site, zip(letter.names, codes, strict=True))
        self.state.lists.set_all([(site, item) for item in letter.names], codes)
        if site not in self.state.unlisted or self.state.unlisted.get(site) != letter.largest_unlisted:
            self.state.unlisted.set(site, letter.largest_unlisted)

    def forget(self, sites: Iterable[str]) -> None:
        """Lists of sites that have left."""
        for site in sites:
            if site in self.of_site:
                self._leave(site, list(self.of_site[site]))
                del self.of_site[site]
            self.state.unlisted.drop(site)

    def code(self, site: str, item: str) -> int | None:
        """The entry of a site's list, None if it lists no such item."""
        return self.of_site.get(site, {}).get(item)

    def named_by_others(self, site: str) -> list[str]:
        """Items that another site names on its own account."""
        own = {item for item, code in self.of_site.get(site, {}).items() if code & 1}
        return [item for item, namers in self.namers.items() if namers > 1 or item not in own]

    def sums_of(self, item: str) -> dict[str, int]:
        """The sums of an item, by the sites that list it."""
        return {site: own[item] >> 1 for site, own in self.of_site.items() if item in own}

    def best(self, k: int) -> list[Pair]:
        return best(self.totals.items(), k)

    def settled(self, k: int, present: Iterable[str], fresh: Collection[str]) -> bool:
        """Whether the best k of the lists are surely the best k of all.

        An item that somebody names, and that all have had a round to answer, has its exact total. Of any other a site
        that does not list it has at most its largest unlisted sum.
        """
        bounds = {site: self.state.unlisted.get(site) for site in present}
        unnamed = sum(bounds.values())
        top = self.best(k)
        kth = top[-1][1] if len(top) == k else 0
        if unnamed and (unnamed >= kth or len(top) < k):
            return False
        inside = {item for item, _ in top}
        for item, total in self.totals.items():
            if item in self.namers and item not in fresh:
                continue
            if item not in inside and total + unnamed < kth:  # nobody can hide more of it than of an unnamed one
                continue
            hidden = unnamed - sum(bounds.get(site, 0) for site in self.sums_of(item))
            if hidden and (item in inside or len(top) < k or total + hidden >= kth):
                return False
        return True
