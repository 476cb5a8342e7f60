"""What a family must bring: a Question with its truth and judge, and Methods with the roles of their nodes.

Roles are sans-I/O and keep nothing themselves. A role is handed its node's state, changes it in place, and
returns what the node wants to say; it may look at nothing else but the moment and its inbox.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from monitoring_lib.answers import Answers, Verdicts
from monitoring_lib.codec import Image
from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.epochs import Window
from monitoring_lib.errors import UsageError
from monitoring_lib.network import Delivery, Letter, Post
from monitoring_lib.summaries import Measure, Summary
from monitoring_lib.topology import Roster, Star, Topology


class Keys(BaseModel):
    """Base of what a monitor's file may say for a question or a method; unknown keys are faults."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Ask:
    """A monitor as its nodes see it: the question's parameters, the method's options, the window, the calendar.

    Measures are whole numbers: a value times `scale`. Parameters in units of the measure are multiplied by it
    where they meet data. `epoch` and `tick` are lengths in microseconds; `window` counts epochs, `span` the same
    window in ticks (None: growing). `confidence` is that of what is promised with a probability.
    """

    params: Any
    options: Any
    window: Window = field(default_factory=Window)
    scale: int = 1
    measure: Measure = field(default_factory=Measure)
    epoch: int = 1
    tick: int = 1
    span: int | None = None
    confidence: float = 0.95
    paired: bool = False
    """Whether the monitor names a partner of each item, by its key `by`."""

    @property
    def ticks(self) -> int:
        """Ticks an epoch has."""
        return self.epoch // self.tick


@dataclass(frozen=True, slots=True)
class Moment:
    """What every node knows of an epoch without being told by another: the calendar and the membership.

    `period` changes where a reset falls. A node in `missing` neither observes nor sends in this epoch. `returning`
    are the present sites that took no part in the epoch before: those that join, and those that are back. `owed`
    says that events which landed for the window were set aside: then every answer is partial.
    """

    epoch: int
    start: int
    end: int
    period: int
    topology: Topology
    sites: tuple[str, ...]
    missing: frozenset[str] = frozenset()
    owed: bool = False
    returning: frozenset[str] = frozenset()

    @property
    def present(self) -> Sequence[str]:
        return [node for node in self.sites if node not in self.missing] if self.missing else self.sites

    def ago(self, epoch: int) -> str:
        """When an epoch up to this one was, in words."""
        since = self.epoch - epoch
        return f"{since} epochs ago" if since > 1 else "in the epoch before" if since else "in this epoch"


S = TypeVar("S", bound=Image)


class Role(ABC, Generic[S]):
    """What a node of some kind does. `State` is the image class of what it remembers."""

    State: type[S]

    def __init__(self, ask: Ask) -> None:
        self.ask = ask

    @abstractmethod
    def start(self, node: str) -> S:
        """What a node knows before its first epoch."""

    def receive(self, state: S, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        """Takes in what was sent to it in the round before, in the order of the senders. It leaves letters as they are.

        Sites speak first in round 0. An inner node is called in every round up to the topology's depth, also
        without mail: at the round of its own height everything from below has had time to arrive.
        """
        return ()

    def answers(self, state: S, moment: Moment) -> Answers:
        """What the node publishes once the epoch has settled."""
        return Answers.of()

    def certificate(self, state: S, moment: Moment) -> str:
        """Why what the node publishes keeps its promise, in sentences for people; '' where it publishes nothing."""
        return ""

    def look_up(self, state: S, moment: Moment, asked: LookUp) -> Answers:
        """What the state of a sealed epoch says to a question put to it later."""
        raise UsageError("this method's states cannot be asked anything but the monitor's own question")

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


class Truth(ABC):
    """The exact answer, kept from exact synopses of all sites by a judge who may see them all.

    Its code is other than the protocols'. A site that is missing counts with what it last observed.
    """

    @abstractmethod
    def observe(self, moment: Moment, node: str, arriving: Any, expiring: Any) -> None:
        """What a site took in of the epoch, and what left its window, as `Question.exact` builds it."""

    @abstractmethod
    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        """Whether each promise was kept. Called once all sites of the epoch have been observed."""


@dataclass(frozen=True, slots=True)
class LookUp:
    """A question that a user puts to a stored state, without running an epoch: an item, a range in microseconds.

    `query` holds anything else that the monitor's own file could ask, by the same keys.
    """

    point: str | None = None
    range: int | None = None
    query: Mapping[str, Any] = field(default_factory=dict)


Shape = Literal["ranking", "number", "rows", "series", "views"]
"""How an answer is shown: a ranked list, one number, named rows, a series over ticks, a view for each node."""


class Question(ABC):
    """What is asked: its parameters, its promise, its exact truth, and how its answer is shown."""

    name: ClassVar[str]
    Params: ClassVar[type[Keys]]
    default_method: ClassVar[str]
    baseline: ClassVar[str]
    """The method that costs are compared with."""
    asks: ClassVar[str] = ""
    """The question in words, for somebody who reads a list of monitors."""
    shape: ClassVar[Shape]
    windows: ClassVar[frozenset[Literal["growing", "reset", "sliding"]]] = frozenset(("growing", "reset", "sliding"))
    """Which windows it can do; another one is a fault of the monitor's file."""
    window_in_ticks: ClassVar[bool] = False
    """Whether a window may end inside an epoch: then it counts whole ticks, else whole epochs."""
    of_pairs: ClassVar[bool] = False
    """Whether it can ask about pairs of an item and a partner; if not, `by` is a fault of the monitor's file."""

    precision: ClassVar[str] = ""
    """The key by which a monitor trades exactness for traffic, the larger the looser; '' where there is none. A dot
    leads into each entry of a list: ``queries.precision``."""

    judged_by_options: ClassVar[bool] = False
    """Whether what is promised depends on a method's options: then each method has a truth of its own."""

    def keys(self, params: Any) -> Mapping[str, str]:
        """Expressions for keys that its own parameters name, beside `item` and `by`."""
        return {}

    def measure(self, params: Any) -> Measure | None:
        """The measure that its own parameters name, where that is not the monitor's `measure`."""
        return None

    def needs(self, params: Any) -> Sequence[str]:
        """The common keys that a monitor of it must say, such as `by`."""
        return ()

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        """What is wrong with parameters that are right one by one."""
        return ()

    @abstractmethod
    def exact(self, ask: Ask) -> Summary:
        """What the truth, the audit and the cost of shipping everything are computed from."""

    @abstractmethod
    def truth(self, ask: Ask) -> Truth: ...

    def watched_from(self, ask: Ask, epoch: int) -> int:
        """The first epoch that a truth must have seen to judge this one."""
        return ask.window.members(epoch).start

    @abstractmethod
    def promise(self, ask: Ask) -> str:
        """The promise in a few words, such as ``valid within 50 (always)``."""

    @abstractmethod
    def meaning(self, ask: Ask) -> str:
        """The promise in a sentence, for somebody who sees the question for the first time."""


class NoOptions(Keys):
    """For methods that have none."""


class Method(ABC):
    """One way to answer a question: its letters, its topology and the roles of its nodes."""

    name: ClassVar[str]
    question: ClassVar[Question]
    Options: ClassVar[type[Keys]] = NoOptions
    letters: ClassVar[tuple[type[Letter], ...]]
    needs_expiring: ClassVar[bool] = True
    """Whether its sites are told what leaves a sliding window; if not, nothing is kept for that."""

    site: SiteRole[Any]
    inner: InnerRole[Any] | None = None

    def __init__(self, ask: Ask) -> None:
        self.ask = ask

    def summary(self) -> Summary:
        """What its sites take in of an epoch."""
        return self.question.exact(self.ask)

    def placement(self) -> tuple[str, ...]:
        """Expressions whose texts say where in the topology a site belongs, the outermost first."""
        return ()

    def faults(self) -> Iterable[KeyFault]:
        """What is wrong with options that are right one by one."""
        return ()

    def topology(self, roster: Roster) -> Topology:
        """The network over the sites known at an epoch."""
        return Star(roster.sites)

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
