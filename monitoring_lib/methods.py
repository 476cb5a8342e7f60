"""What a family must bring: a Question with its truth and judge, and Methods with the roles of their nodes.

Roles are sans-I/O and keep nothing themselves. A role is handed its node's state, changes it in place, and
returns what the node wants to say; it may look at nothing else but the moment and its inbox.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from monitoring_lib.codec import Image
from monitoring_lib.epochs import Window
from monitoring_lib.network import Delivery, Letter, Post, Star, Topology
from monitoring_lib.synopses.base import Synopsis


class Keys(BaseModel):
    """Base of what a monitor's file may say for a question or a method; unknown keys are faults."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Ask:
    """A monitor as its nodes see it: the question's parameters, the method's options, and the window.

    Measures are whole numbers: a value times `scale`. Parameters in units of the measure are multiplied by
    it where they meet data.
    """

    params: Any
    options: Any
    window: Window = field(default_factory=Window)
    scale: int = 1


@dataclass(frozen=True, slots=True)
class Moment:
    """What every node knows of an epoch without being told by another: the calendar and the membership.

    `period` changes where a reset falls. A node in `missing` neither observes nor speaks in this epoch.
    """

    epoch: int
    start: int
    end: int
    period: int
    topology: Topology
    sites: tuple[str, ...]
    missing: frozenset[str] = frozenset()

    @property
    def present(self) -> Sequence[str]:
        return [node for node in self.sites if node not in self.missing] if self.missing else self.sites


@dataclass(frozen=True, slots=True)
class Answer:
    """One row of what a node publishes: ``low <= exact <= high``, always if `confidence` is 1.

    `tick` is the moment it holds for, `key` the item, query or quantile ('' for a single number). Numbers are
    in units of the measure.
    """

    node: str
    tick: int
    key: str
    rank: int | None
    estimate: float
    low: float
    high: float
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's finding on one row, or on an answer as a whole (key '')."""

    node: str
    tick: int
    key: str
    promise: str
    exact: float
    error: float
    allowed: float
    kept: bool


S = TypeVar("S", bound=Image)


class Role(ABC, Generic[S]):
    """What a node of some kind does. `State` is the image class of what it remembers."""

    State: type[S]

    def __init__(self, ask: Ask) -> None:
        self.ask = ask

    @abstractmethod
    def start(self, node: str) -> S:
        """What a node knows before its first epoch."""

    def receive(self, state: S, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        """Takes in one round's deliveries, in the order of their senders."""
        return ()

    def answers(self, state: S, moment: Moment) -> Sequence[Answer]:
        """What the node publishes once the epoch has settled."""
        return ()

    def faults(self, state: S) -> Sequence[str]:
        """Invariants of the protocol that this state breaks; a sound node never has any."""
        return ()


class SiteRole(Role[S]):
    """A node where events happen."""

    @property
    def publishes(self) -> bool:
        """Whether sites answer themselves; if not, nobody needs their states once an epoch has settled."""
        return type(self).answers is not Role.answers

    @abstractmethod
    def observe(self, state: S, moment: Moment, arriving: Any, expiring: Any) -> Iterable[Post]:
        """Takes in what happened at the site in this epoch and what left the window since its last one."""


class InnerRole(Role[S]):
    """The coordinator, or an inner node of a tree."""

    def close(self, state: S, moment: Moment) -> Iterable[Post]:
        """Upkeep once the epoch has settled; the receivers take it in before they next observe, silently."""
        return ()


@dataclass(frozen=True)
class Summary:
    """What `summarise` makes of one site's one epoch: the sums of a measure by `keys`, built into a synopsis.

    The sums are formed where the events are; `build` gets the key columns and the sums of one (site, epoch).
    Monitors that ask for equal summaries of a source share one.
    """

    keys: tuple[str, ...]
    synopsis: type[Synopsis]
    build: Callable[[Mapping[str, pa.Array], pa.Array], Synopsis] = field(compare=False)
    parameters: str = ""

    def empty(self) -> Synopsis:
        """What `build` makes of no events: a sketch without data still has its parameters."""
        return self.build({key: pa.array([], pa.string()) for key in self.keys}, pa.array([], pa.int64()))


class Truth(ABC):
    """The exact answer, kept from the very synopses that the sites see, by a judge who may see them all."""

    @abstractmethod
    def observe(self, moment: Moment, node: str, arriving: Any, expiring: Any) -> None: ...

    @abstractmethod
    def judge(self, moment: Moment, answers: Sequence[Answer]) -> list[Verdict]: ...


class Question(ABC):
    """What is asked: its parameters, its promise, its exact truth."""

    name: ClassVar[str]
    Params: ClassVar[type[Keys]]
    default_method: ClassVar[str]

    @abstractmethod
    def summary(self, ask: Ask) -> Summary: ...

    @abstractmethod
    def truth(self, ask: Ask) -> Truth: ...

    @abstractmethod
    def promise(self, ask: Ask) -> str:
        """The promise in words a user reads, such as ``valid within 50 (always)``."""


class NoOptions(Keys):
    """For methods that have none."""


class Method(ABC):
    """One way to answer a question: its letters, its topology and the roles of its nodes."""

    name: ClassVar[str]
    question: ClassVar[Question]
    Options: ClassVar[type[Keys]] = NoOptions
    letters: ClassVar[tuple[type[Letter], ...]]

    site: SiteRole[Any]
    inner: InnerRole[Any] | None = None

    def __init__(self, ask: Ask) -> None:
        self.ask = ask

    def topology(self, sites: tuple[str, ...]) -> Topology:
        """The network over the sites known at an epoch."""
        return Star(sites)

    def role(self, node: str) -> Role[Any]:
        """The role of a node that is no site; a tree may give its root another than its inner nodes."""
        if self.inner is None:
            raise LookupError(f"{self.name} has no node {node!r}")
        return self.inner

    def most_rounds(self, sites: int) -> int:
        """Rounds an epoch may take; more is a bug that fails the epoch."""
        return 2 * sites + 10

    def continues(self, before: Ask) -> bool:
        """Whether states of this method under another ask can be carried on under this one."""
        return before == self.ask
