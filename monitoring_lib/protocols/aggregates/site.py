"""A site: it watches its objects' values and sends a new bound where the standing one does not hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from monitoring_lib.codec import Ints
from monitoring_lib.errors import DataError
from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post, site_of_node
from monitoring_lib.protocols.aggregates.filters import fill, in_two_stages, new_bounds, whole_steps
from monitoring_lib.protocols.aggregates.groups import group_series, new_groups, refuse_prefixed
from monitoring_lib.protocols.aggregates.letters import Agreed, NewBounds, NewWidths
from monitoring_lib.protocols.aggregates.policy import Policy, Series
from monitoring_lib.protocols.aggregates.readings import Readings
from monitoring_lib.protocols.aggregates.state import SiteState
from monitoring_lib.protocols.aggregates.terms import UNBOUNDED, agreed, terms_of, tightened

_LARGEST = 1 << 60


class AggregatesSite(SiteRole[SiteState]):
    """Silent about an object while its value is inside ``[centre - width / 2, centre + width / 2]``."""

    State = SiteState

    def __init__(self, ask: Ask, policy: Policy) -> None:
        super().__init__(ask)
        self.policy = policy
        self.terms = terms_of(ask)
        self.agreed = agreed(self.terms)
        self._zeros = ask.measure.reduction in ("sum", "count")

    def start(self, node: str) -> SiteState:
        return SiteState(node)

    def observe(self, state: SiteState, moment: Moment, arriving: Readings, expiring: Readings) -> Iterable[Post]:
        self._keep_up(state, moment)
        known = len(state.names)
        series = self._read(state, moment, arriving)
        if not len(state.names):
            return
        places, ticks, sent = self._filtered(state, moment, series)
        if not self._zeros or self.policy.latency.padded:
            state.values = series.values[:, -1].copy()
        if self.policy.period:
            state.sent = state.sent + np.bincount(places, minlength=len(state.names))
            if self.policy.ends_period(moment.epoch):
                state.widths = self.policy.shrunk(
                    moment, self.terms, self._labels(state, state.names), state.widths, state.sent
                )
        if len(places):
            yield Post(COORDINATOR, NewBounds(state.names[known:], places, ticks, sent), "outside its bound")
        yield from self.policy.measure(state, moment, series)

    def _filtered(self, state: SiteState, moment: Moment, series: Series) -> tuple[Ints, Ints, Ints]:
        """Places, ticks and doubled centres of the bounds to send; the state has the newest ones."""
        latency, filter_, centres = self.policy.latency, self.policy.filter, state.centres.copy()
        state.centres = centres
        if not latency.lag:
            steps_ = whole_steps(state.widths, filter_)
            return new_bounds(filter_, series.values, series.firsts, series.known, centres, steps_)
        back = state.node in moment.returning  # what happened meanwhile is not known: it tells all values anew
        known = series.known & (not back)
        if latency.padded:
            latency.refuse_jumps(state.node, state.names, state.values, series.values, series.firsts, known)
        earlier = np.append(state.earlier, state.widths[len(state.earlier) :])
        held = np.minimum(earlier, state.widths)
        if back:
            held = np.where(series.known & (state.widths < UNBOUNDED), 0, held)
        state.earlier = state.widths.copy()
        steps = whole_steps(held, filter_), whole_steps(state.widths, filter_)
        return in_two_stages(series.values, series.firsts, known, centres, *steps, latency.lag)

    def _keep_up(self, state: SiteState, moment: Moment) -> None:
        """Changed queries narrow widths at both ends alike; a new period counts from 0."""
        if state.agreed != self.agreed:
            state.widths = tightened(state.widths, self._labels(state, state.names), state.agreed, self.terms)
            state.agreed = dict(self.agreed)
        period = self.policy.period
        if period and state.counted != moment.epoch // period:
            state.counted = moment.epoch // period
            state.sent = np.zeros(len(state.names), np.int64)

    def _read(self, state: SiteState, moment: Moment, arriving: Readings) -> Series:
        """The epoch's series; objects that are new take the next places."""
        known, ticks = len(state.names), self.ask.ticks
        place_of = {name: place for place, name in enumerate(state.names)}
        new = [name for name in arriving.names if name not in place_of]
        if self.policy.aggregates(state.node):
            refuse_prefixed(state.node, new)
            new += new_groups(self.terms, state.node, [*state.names, *new])
        if new:
            place_of.update({name: known + at for at, name in enumerate(new)})
            state.names = [*state.names, *new]
            more = np.zeros(len(new), np.int64)
            state.values, state.centres = np.append(state.values, more), np.append(state.centres, more)
            starting = self.policy.starting(self._labels(state, new))
            state.widths = np.append(state.widths, np.array(starting, np.int64))
            if self.policy.period:
                state.sent = np.append(state.sent, more)
        self._refuse_large(state, arriving)
        starts, rows = np.zeros((2, len(state.names)), np.int64)
        places = np.array([place_of[name] for name in arriving.names], np.int64)
        starts[places], rows[places] = np.cumsum(arriving.rows) - arriving.rows, arriving.rows
        heard = np.arange(len(state.names)) < known
        values, firsts = fill(
            state.values,
            heard | (rows == 0),
            ticks,
            starts,
            rows,
            arriving.ticks,
            arriving.values,
            moment.epoch * ticks,
            self._zeros,
        )
        if self.policy.aggregates(state.node):
            values, firsts = group_series(self.terms, state.names, values, firsts, _LARGEST)
        return Series(values, firsts, heard)

    def _labels(self, state: SiteState, names: Sequence[str]) -> list[str]:
        return self.policy.labelled(names, [state.node] * len(names))

    def _refuse_large(self, state: SiteState, arriving: Readings) -> None:
        if len(arriving) and max(int(arriving.values.max()), -int(arriving.values.min())) >= _LARGEST:
            at = int(np.abs(arriving.values.astype(float)).argmax())
            name = arriving.names[int(np.searchsorted(np.cumsum(arriving.rows), at, side="right"))]
            raise DataError(
                f"site {site_of_node(state.node)!r}: object {name!r} reads {arriving.values[at]} steps, which is beyond"
                " 60 bits; lower the source's `scale`"
            )

    def receive(self, state: SiteState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        for delivery in inbox:
            letter = delivery.letter
            if isinstance(letter, Agreed):
                state.agreed = dict(letter.agreed)
                continue
            assert isinstance(letter, NewWidths)
            widths = state.widths.copy()
            widths[letter.places] = letter.widths
            state.widths = widths
        return ()
