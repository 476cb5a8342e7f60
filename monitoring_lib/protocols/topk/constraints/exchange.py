"""What the coordinator of `constraints` asks and hears within one epoch."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence

from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import Delivery, Letter, Post
from monitoring_lib.protocols.topk.adjusted import UNIT
from monitoring_lib.protocols.topk.constraints import letters
from monitoring_lib.protocols.topk.constraints.allocation import Allocation
from monitoring_lib.protocols.topk.constraints.pads import is_pad, items_of
from monitoring_lib.protocols.topk.constraints.reallocation import ResolutionScope
from monitoring_lib.protocols.topk.constraints.watching import watching
from monitoring_lib.protocols.topk.letters import Above, Best, FoundObjects, Poll, Polled, SiteSums, Tell, Told
from monitoring_lib.protocols.topk.sums import keeps_zeros

Asking = Generator[list[Post], Sequence[Delivery], None]
"""Yields what the coordinator posts and is sent the replies; every site that is asked replies."""


class Exchange:
    """Who takes part in the epoch, and what was said so far. Sums do not change within an epoch."""

    def __init__(self, ask: Ask, allocation: Allocation, moment: Moment) -> None:
        self.ask = ask
        self.allocation = allocation
        self.state = allocation.state
        self.moment = moment
        self.tolerance = int(ask.params.tolerance * ask.scale * UNIT)
        self.nameless = not keeps_zeros(ask)
        self.rates: dict[str, int] = {}
        self._heard: dict[tuple[str, str], int] = {}
        self._polled: dict[str, list[str]] = {}
        self._current: set[tuple[str, str]] = set()
        self.watching = watching(ask)
        self.joined: set[str] = set()
        self._posts: list[Post] = []

    @property
    def taking_part(self) -> list[str]:
        return [site for site in sorted(self.moment.present) if site in self.state.numbers]

    @property
    def frozen(self) -> bool:
        """Whether a site is missing whose constraint depends on the present members, so that they must stay."""
        return any(site in self.moment.missing for site in self.state.numbers)

    def post(self, site: str, letter: Letter, reason: str) -> None:
        self._posts.append(Post(site, letter, reason))

    def turn(self) -> Generator[list[Post], Sequence[Delivery], list[Delivery]]:
        """Posts what is to be posted; the replies, but for polled sums, which are taken in."""
        self.record()
        posts, self._posts = self._posts, []
        inbox = yield posts
        self.hear_members(inbox)
        return [delivery for delivery in inbox if not isinstance(delivery.letter, Polled)]

    def hear_members(self, inbox: Sequence[Delivery]) -> None:
        """Takes in sums of members that sites told unasked or were polled for."""
        for delivery in inbox:
            letter = delivery.letter
            if isinstance(letter, SiteSums):
                names, sums = letter.names, letter.values
            elif isinstance(letter, Polled):
                names, sums = self._polled.pop(delivery.sender), letter.sums
            else:
                continue
            self._heard.update(((delivery.sender, name), value) for name, value in zip(names, sums, strict=True))

    def carry_on(self) -> None:
        """Where sites tell every change of a member's sum, what was told before still holds."""
        if self.watching == "changes":
            self._current = {pair for pair in self.state.fresh if pair[0] in self.moment.sites}

    def poll_members(self) -> None:
        """Asks for members' sums that sites would have told, had they been watching them."""
        if self.watching == "nothing":
            return
        self.record()
        fresh, members = set(self.state.fresh), items_of(self.state.members)
        for site in self.taking_part:
            anew = self.watching == "changes" or site in self.joined
            wanted = members if anew else [name for name in members if self.frozen and self.is_gone(name)]
            names = [name for name in wanted if (site, name) not in fresh]
            if names:
                self._polled[site] = names
                self.post(site, Poll([*names]), "totals")

    def is_gone(self, name: str) -> bool:
        """Whether no site of the roster is known to hold anything of a member."""
        return not any(self.state.told.get((site, name)) for site in self.moment.sites)

    def record(self) -> None:
        """Keeps what was heard of members, for the answer's totals."""
        members, state = set(self.state.members), self.state
        state.fresh = sorted(pair for pair in self._current.union(self._heard) if pair[1] in members)
        for pair in self._heard.keys() & state.fresh:
            if pair not in self.state.told or self.state.told.get(pair) != self._heard[pair]:
                self.state.told.set(pair, self._heard[pair])

    def scope_of(self, requests: Sequence[Delivery]) -> ResolutionScope:
        """Phase 1: what the sites that ask have told of members and of the outsiders they name."""
        scope = ResolutionScope(set(self.state.members))
        for delivery in requests:
            letter = delivery.letter
            assert isinstance(letter, letters.Request)
            names = [*items_of(self.state.members), *letter.outsiders]
            scope.names.update(letter.outsiders)
            self._hear(scope, delivery.sender, names, letter)
        self.fill_pads(scope)
        return scope

    def _hear(
        self,
        scope: ResolutionScope,
        site: str,
        names: Iterable[str],
        letter: letters.Request | Told | FoundObjects,
    ) -> None:
        unit = UNIT if self.nameless else -UNIT
        told = scope.sums.setdefault(site, {})
        for name, value in zip(names, letter.sums, strict=True):
            self._heard[site, name] = value
            told[name] = value * unit
        scope.borders[site] = letter.border
        self.rates[site] = letter.rate

    def find_best(self, scope: ResolutionScope) -> Asking:
        """Every site's k best outsiders by adjusted sum join the scope, and all tell of the members."""
        for site in self.taking_part:
            self.post(site, Best(self.ask.params.k), "query")
        yield from self._ask(scope, dict.fromkeys(self.taking_part, items_of(self.state.members)))

    def find_above(self, scope: ResolutionScope, levels: Mapping[str, int]) -> Asking:
        """What stands above its site's level joins the scope."""
        for site, level in sorted(levels.items()):
            self.post(site, Above(level), "borders too high")
        yield from self._ask(scope, dict.fromkeys(levels, ()))

    def complete(self, scope: ResolutionScope, names: Iterable[str]) -> Asking:
        """Every site has told the sums of these objects, and the border beside all it has told."""
        wanted, asked = items_of(names), {}
        for site in self.taking_part:
            told = scope.sums.setdefault(site, {})
            untold = sorted(name for name in wanted if name not in told)
            if untold or site not in scope.borders:
                asked[site] = untold
                self.post(site, Tell([*untold], site not in scope.borders), "resolution")
        if asked:
            yield from self._ask(scope, asked)
        self.fill_pads(scope)

    def _ask(self, scope: ResolutionScope, asked: Mapping[str, Sequence[str]]) -> Asking:
        for delivery in (yield from self.turn()):
            letter, site = delivery.letter, delivery.sender
            if isinstance(letter, Told):
                self._hear(scope, site, asked[site], letter)
            elif isinstance(letter, FoundObjects):
                scope.loose.update(name for name in letter.names if name not in scope.names)
                self._hear(scope, site, [*asked[site], *letter.names], letter)

    def fill_pads(self, scope: ResolutionScope) -> None:
        """Pads have the sum 0 everywhere, which no site need tell."""
        known = [name for name in (*scope.names, *scope.loose) if is_pad(name)]
        for told in scope.sums.values():
            told.update(dict.fromkeys(known, 0))
