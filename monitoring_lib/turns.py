"""A coordinator whose epoch is written as one exchange: it posts, takes the inbox of the next round, goes on."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TypeVar

from monitoring_lib.codec import Image
from monitoring_lib.methods import Ask, InnerRole, Moment
from monitoring_lib.network import Delivery, Post
from monitoring_lib.unstored import Turns, Unstored

S = TypeVar("S", bound=Image)


class TurnTaker(InnerRole[S]):
    """The first inbox of an epoch begins the exchange, each further one continues it. No state holds it."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._unstored: Unstored[Turns] = Unstored()

    @abstractmethod
    def turns(self, state: S, moment: Moment, inbox: Sequence[Delivery]) -> Turns:
        """The exchange of an epoch, from its first inbox on."""

    def receive(self, state: S, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        under_way = self._unstored.of_epoch(state, moment.epoch)
        if under_way is not None:
            return under_way.send(inbox)
        return next(self._unstored.put(state, moment.epoch, self.turns(state, moment, inbox)))

    def close(self, state: S, moment: Moment) -> Iterable[Post]:
        self._unstored.settle(state, moment.epoch)
        return ()
