"""What the coordinator of `constraints` asks and hears within one epoch."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence

from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import Delivery, Letter, Post
from monitoring_lib.protocols.topk import messages as letters
from monitoring_lib.protocols.topk.constraints_state import ConstraintsCentre
from monitoring_lib.protocols.topk.pads import is_pad, items_of
from monitoring_lib.protocols.topk.reallocation import UNIT, Scope
from monitoring_lib.protocols.topk.sums import keeps_zeros

Asking = Generator[list[Post], Sequence[Delivery], None]
"""Yields what the coordinator posts and is sent the replies; every site that is asked replies."""


class Exchange:
    """Who takes part in the epoch, and what was said so far. Sums do not change within an epoch."""

    def __init__(self, ask: Ask, state: ConstraintsCentre, moment: Moment) -> None:
        self.ask = ask
        self.state = state
        self.moment = moment
        self.tolerance = int(ask.params.tolerance * ask.scale * UNIT)
        self.nameless = not keeps_zeros(ask)
        self.rates: dict[str, int] = {}
        self._heard: dict[tuple[str, str], int] = {}
        self._polled: dict[str, list[str]] = {}
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
        """Posts what is to be posted, and members' sums are asked for where they are to be published; the replies."""
        self._record()
        if self.ask.options.totals == "poll":
            for site in self.taking_part:
                self._poll(site)
        posts, self._posts = self._posts, []
        inbox = yield posts
        for delivery in inbox:
            if isinstance(delivery.letter, letters.Polled):
                for name, value in zip(self._polled.pop(delivery.sender), delivery.letter.sums, strict=True):
                    self._heard[delivery.sender, name] = value
        return [delivery for delivery in inbox if not isinstance(delivery.letter, letters.Polled)]

    def _poll(self, site: str) -> None:
        names = [name for name in items_of(self.state.members) if (site, name) not in self._heard]
        if names:
            self._polled[site] = names
            self.post(site, letters.Poll([*names]), "totals")

    def _record(self) -> None:
        """Keeps what was heard of members, for the answer's totals."""
        members = set(self.state.members)
        self.state.fresh = sorted(pair for pair in self._heard if pair[1] in members)
        for pair in self.state.fresh:
            if pair not in self.state.told or self.state.told.get(pair) != self._heard[pair]:
                self.state.told.set(pair, self._heard[pair])

    def scope_of(self, requests: Sequence[Delivery]) -> Scope:
        """Phase 1: what the sites that ask have told of members and of the outsiders they name."""
        scope = Scope(set(self.state.members))
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
        scope: Scope,
        site: str,
        names: Iterable[str],
        letter: letters.Request | letters.Told | letters.Found,
    ) -> None:
        unit = UNIT if self.nameless else -UNIT
        told = scope.sums.setdefault(site, {})
        for name, value in zip(names, letter.sums, strict=True):
            self._heard[site, name] = value
            told[name] = value * unit
        scope.borders[site] = letter.border
        self.rates[site] = letter.rate

    def find_best(self, scope: Scope) -> Asking:
        """Every site's k best outsiders by adjusted sum join the scope, and all tell of the members."""
        for site in self.taking_part:
            self.post(site, letters.Best(self.ask.params.k), "query")
        yield from self._ask(scope, dict.fromkeys(self.taking_part, items_of(self.state.members)))

    def find_above(self, scope: Scope, levels: Mapping[str, int]) -> Asking:
        """What stands above its site's level joins the scope."""
        for site, level in sorted(levels.items()):
            self.post(site, letters.Above(level), "borders too high")
        yield from self._ask(scope, dict.fromkeys(levels, ()))

    def complete(self, scope: Scope, names: Iterable[str]) -> Asking:
        """Every site has told the sums of these objects, and the border beside all it has told."""
        wanted, asked = items_of(names), {}
        for site in self.taking_part:
            told = scope.sums.setdefault(site, {})
            untold = sorted(name for name in wanted if name not in told)
            if untold or site not in scope.borders:
                asked[site] = untold
                self.post(site, letters.Tell([*untold], site not in scope.borders), "resolution")
        if asked:
            yield from self._ask(scope, asked)
        self.fill_pads(scope)

    def _ask(self, scope: Scope, asked: Mapping[str, Sequence[str]]) -> Asking:
        for delivery in (yield from self.turn()):
            letter, site = delivery.letter, delivery.sender
            if isinstance(letter, letters.Told):
                self._hear(scope, site, asked[site], letter)
            elif isinstance(letter, letters.Found):
                scope.loose.update(name for name in letter.names if name not in scope.names)
                self._hear(scope, site, [*asked[site], *letter.names], letter)

    def fill_pads(self, scope: Scope) -> None:
        """Pads have the sum 0 everywhere, which no site need tell."""
        known = [name for name in (*scope.names, *scope.loose) if is_pad(name)]
        for told in scope.sums.values():
            told.update(dict.fromkeys(known, 0))
