"""What the protocols need of a sketch, whichever it is: how knowledge is joined, compared, sent and read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, TypeVar

from monitoring_lib.codec import Image, Ints
from monitoring_lib.methods import Ask
from monitoring_lib.network import Letter

K = TypeVar("K")
"""Knowledge: a row of FM's words, or an image of DataSketches. Values are never changed in place."""


class Form(ABC, Generic[K]):
    """The sketch of one monitor."""

    SiteState: ClassVar[type[Image]]
    CoordinatorState: ClassVar[type[Image]]
    empty: K

    def __init__(self, ask: Ask) -> None:
        self.ask = ask

    @abstractmethod
    def taken(self, arriving: Any) -> K:
        """What a cell's synopsis tells."""

    @abstractmethod
    def union(self, parts: Iterable[K]) -> K: ...

    @abstractmethod
    def lacking(self, known: K, other: K) -> K | None:
        """What of the other is not known yet, None if nothing."""

    @abstractmethod
    def estimate(self, sketch: K) -> float:
        """The number of items, growing with all that is added: what thresholds are held against."""

    @abstractmethod
    def bounds(self, sketch: K, lag: float) -> tuple[float, float, float]:
        """The published number between its bounds, if sites may keep back this share of it."""

    def note(self, state: Any, arriving: Any) -> None:
        """Remembers what a later report needs of an arriving synopsis beside its bits."""

    @abstractmethod
    def report(self, version: int, new: K, whole: K, state: Any, arriving: Any) -> Letter:
        """What a site sends."""

    @abstractmethod
    def reply(self, version: int, new: K, whole: K) -> Letter:
        """What the coordinator sends."""

    @abstractmethod
    def opened(self, letter: Letter) -> K:
        """What a letter tells."""

    @abstractmethod
    def no_debt(self) -> Ints: ...

    @abstractmethod
    def doubled(self, part: K, union: K) -> Ints:
        """Bytes of a received part that the union held already."""

    @abstractmethod
    def covered(self, debts: Ints, lacking: K) -> tuple[K | None, Ints]:
        """What of the lacking part the debts pay for, None if nothing, and the debts afterwards."""
