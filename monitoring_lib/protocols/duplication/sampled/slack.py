"""How far a site's count may run ahead of what it has told, and what that adds up to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction

from monitoring_lib.methods import Moment


class Slack(ABC):
    """A site tells a count C once it exceeds ``C' + allotment * base``, C' what it last told."""

    shared: bool
    """Whether the base is the total over all sites, as told by the coordinator; else the site's own C'."""

    @abstractmethod
    def allotment(self, lag: Fraction, moment: Moment) -> Fraction: ...

    @abstractmethod
    def together(self, allotments: Iterable[Fraction]) -> Fraction:
        """``C <= (1 + together) C0`` for the sums over sites that have these allotments."""


class OwnSlack(Slack):
    """Local counts: every site may fall behind its own count by the lag, and so does the sum of them."""

    shared = False

    def allotment(self, lag: Fraction, moment: Moment) -> Fraction:
        return lag

    def together(self, allotments: Iterable[Fraction]) -> Fraction:
        return max(allotments, default=Fraction(0))


class SharedSlack(Slack):
    """Shared counts: the k sites of the roster may each fall behind by the k-th part of the lag of the total."""

    shared = True

    def allotment(self, lag: Fraction, moment: Moment) -> Fraction:
        return lag / max(len(moment.sites), 1)

    def together(self, allotments: Iterable[Fraction]) -> Fraction:
        return sum(allotments, Fraction(0))
