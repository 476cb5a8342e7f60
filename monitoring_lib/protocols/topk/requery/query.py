"""The three-phase query of `requery`, as a generator of questions.

Scores are sums, for the smallest negated ones, so that a better item always has the larger score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from monitoring_lib.errors import ProtocolError
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import Letter, Post
from monitoring_lib.protocols.topk.adjusted import UNIT
from monitoring_lib.protocols.topk.letters import Above, Best, FoundObjects, Tell, Told
from monitoring_lib.protocols.topk.question import tolerance_of
from monitoring_lib.protocols.topk.requery.state import RequeryCoordinatorState
from monitoring_lib.protocols.topk.sums import keeps_zeros
from monitoring_lib.unstored import Turns

BELOW_ALL = -(2**62) * UNIT
"""A level or a border that every sum lies above, in the unit of adjusted sums."""


class EpochQuery:
    """One epoch's query. Sites that are missing count with what they last said."""

    def __init__(self, ask: Ask, state: RequeryCoordinatorState, moment: Moment) -> None:
        self.ask = ask
        self.state = state
        self.moment = moment
        self.present = sorted(moment.present)
        self._tolerance = tolerance_of(ask)
        self._largest = not keeps_zeros(ask)
        self._sign = 1 if self._largest else -1
        self._at_least_zero = self._largest and not ask.params.signed
        self._said: dict[str, dict[str, int]] = {}
        self._caps: dict[str, int] = {}

    def run(self, changed: bool) -> Turns:
        """One query; none, if nothing has changed since the last one that was not in its answer."""
        if self._enter() or changed:
            yield from self._query()
        yield []

    def _enter(self) -> bool:
        """Whether the last answer may not do, though no site has changed."""
        state, asked = self.state, (self.ask.params.k, self._tolerance)
        gone = sorted(set(state.caps).difference(self.moment.sites))
        again = bool(gone) or asked != (state.k, state.tolerance) or state.excess != 0
        if self.ask.params.totals is not None and not self.moment.missing and state.lows != state.highs:
            again = True
        if state.period != self.moment.period:
            gone, again = sorted(state.caps), True
        state.period, (state.k, state.tolerance) = self.moment.period, asked
        for site in gone:
            del state.caps[site]
        for pair in [pair for pair in state.said if pair[0] in gone]:
            state.said.drop(pair)
        return again

    def _query(self) -> Turns:
        for (site, name), score in self.state.said.items():
            if site in self.moment.missing:
                self._said.setdefault(name, {})[site] = score
        self._caps = {site: cap for site, cap in self.state.caps.items() if site in self.moment.missing}
        if self.present:
            yield from self._ask(dict.fromkeys(self.present, Best(self.ask.params.k)))
            yield from self._find_above()
            yield from self._complete(self._candidates())
        self._publish()

    def _find_above(self) -> Turns:
        """Every score above the share of what is known to be reached k times, the tolerance included."""
        if not self._at_least_zero:  # then partial totals bound nothing: they are completed first
            yield from self._complete(self._said)
        kth = self._kth()
        if kth is None:
            level = BELOW_ALL
        elif kth + self._tolerance < 0:
            level = (kth + self._tolerance) * UNIT
        else:
            fixed = sum(max(0, self._caps[site]) for site in self.moment.missing if site in self._caps)
            level = max(0, kth + self._tolerance - fixed) // len(self.present) * UNIT
        wanting = [site for site in self.present if self._caps[site] * UNIT > level]
        yield from self._ask(dict.fromkeys(wanting, Above(level)))

    def _kth(self) -> int | None:
        """The k-th best known total, at least 0 for the largest; None if, for the smallest, there is none."""
        totals = sorted((sum(scores.values()) for scores in self._said.values()), reverse=True)
        kth = totals[self.ask.params.k - 1] if len(totals) >= self.ask.params.k else None
        return max(0, kth or 0) if self._largest else kth

    def _candidates(self) -> list[str]:
        """What can be a member, and what will be one by what is known."""
        if not self._at_least_zero:
            return [*self._said]
        limit = (self._kth() or 0) + self._tolerance
        return [*{name for name in self._said if self._high(name) > limit}.union(self._best())]

    def _best(self) -> list[str]:
        totals = {name: sum(scores.values()) for name, scores in self._said.items()}
        ordered = sorted(totals, key=lambda name: (-totals[name], name))[: self.ask.params.k]
        return [name for name in ordered if totals[name] > 0 or not self._largest]

    def _low(self, name: str) -> int | None:
        scores, low = self._said[name], 0
        for site in self._caps:
            if site in scores:
                low += scores[site]
            elif not self._at_least_zero:
                return None
        return low

    def _high(self, name: str) -> int:
        scores = self._said[name]
        return sum(scores[site] if site in scores else max(0, cap) for site, cap in self._caps.items())

    def _unnamed_high(self) -> int:
        """The best total of an item that no site has named in this query."""
        caps = self._caps.values()
        if self._largest or any(cap > 0 for cap in caps):
            return sum(max(0, cap) for cap in caps)
        return max(caps, default=BELOW_ALL)

    def _complete(self, names: Iterable[str]) -> Turns:
        wanted = sorted(names)
        asked = {site: [name for name in wanted if site not in self._said[name]] for site in self.present}
        letters = {site: Tell([*untold], False) for site, untold in asked.items() if untold}
        yield from self._ask(letters, asked)

    def _ask(self, questions: Mapping[str, Letter], asked: Mapping[str, list[str]] | None = None) -> Turns:
        """Every site that is asked replies: with the sums asked for by name, or with those it found."""
        if not questions:
            return
        inbox = yield [Post(site, letter, "query") for site, letter in sorted(questions.items())]
        for delivery in inbox:
            site, letter = delivery.sender, delivery.letter
            assert isinstance(letter, Told | FoundObjects)
            names = letter.names if isinstance(letter, FoundObjects) else (asked or {})[site]
            for name, value in zip(names, letter.sums, strict=True):
                self._said.setdefault(name, {})[site] = self._sign * value
            self._caps[site] = -(-letter.border // UNIT)

    def _publish(self) -> None:
        state, sign, best = self.state, self._sign, self._best()
        lows = {name: self._low(name) for name in best}
        known = [low for low in lows.values() if low is not None]
        if self._largest and len(best) < self.ask.params.k:
            known.append(0)
        state.member_low = None if None in lows.values() else min(known, default=0)
        outside = [self._high(name) for name in self._said if name not in lows]
        if self._largest or len(best) == self.ask.params.k:
            outside.append(self._unnamed_high())
        state.outsider_high = max(outside, default=BELOW_ALL)
        state.excess = None if state.member_low is None else max(0, state.outsider_high - state.member_low)
        if state.excess is not None and state.excess <= self._tolerance:
            state.excess = 0
        elif not self.moment.missing:
            raise ProtocolError(f"requery cannot prove its answer of epoch {self.moment.epoch}")
        state.members, state.totals = best, [sign * sum(self._said[name].values()) for name in best]
        bounds = [(lows[name], self._high(name)) for name in best]
        if self._largest:
            state.lows, state.highs = [low for low, _ in bounds], [high for _, high in bounds]
        else:
            state.lows, state.highs = (
                [-high for _, high in bounds],
                [None if low is None else -low for low, _ in bounds],
            )
        self._remember()

    def _remember(self) -> None:
        state = self.state
        said = {(site, name): score for name, scores in self._said.items() for site, score in scores.items()}
        for pair in [pair for pair in state.said if pair not in said]:
            state.said.drop(pair)
        for pair, score in said.items():
            if pair not in state.said or state.said.get(pair) != score:
                state.said.set(pair, score)
        state.caps.update(self._caps)
