"""A method small enough to test the replay with: sites tell the coordinator how their sum changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.codec import Image
from monitoring_lib.epochs import Window
from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.methods import Ask, InnerRole, Keys, Method, Moment, Question, SiteRole, Truth
from monitoring_lib.network import COORDINATOR, Delivery, Letter, Post
from monitoring_lib.summaries import Cell, Rows
from monitoring_lib.synopses.counts import Counts


@dataclass(frozen=True)
class Total(ItemCounts):
    """One number a cell, whatever its items are."""

    def build(self, cell: Cell, rows: Rows) -> Counts:
        return Counts.of_pairs([("total", sum(rows.values.to_pylist()))] if len(rows) else [])


class Sum(Question):
    name = "sum"
    Params = Keys
    default_method = "telling"
    baseline = "telling"
    shape = "number"

    def exact(self, ask: Ask) -> ItemCounts:
        return ItemCounts(ask.measure)

    def truth(self, ask: Ask) -> Truth:
        return SumTruth()

    def promise(self, ask: Ask) -> str:
        return "exact (always)"

    def meaning(self, ask: Ask) -> str:
        return "the sum over all sites"


class SumTruth(Truth):
    def __init__(self) -> None:
        self.sum = 0

    def observe(self, moment: Moment, node: str, arriving: Counts, expiring: Counts) -> None:
        self.sum += int(arriving.sums.sum()) - int(expiring.sums.sum())

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        return Verdicts.of(
            Verdict(row.node, row.tick, row.key, "exact", self.sum, 0, 0, row.estimate == self.sum) for row in answers
        )


@dataclass(slots=True)
class Change(Letter, tag=1, version=1):
    by: int


@dataclass(slots=True)
class SumState(Image, tag=2, version=1):
    sum: int = 0


class Teller(SiteRole[SumState]):
    """`seen` notes what each site was handed, by epoch and node."""

    State = SumState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.seen: dict[tuple[int, str], tuple[list[tuple[str, int]], list[tuple[str, int]]]] = {}
        self._names: dict[int, str] = {}

    def start(self, node: str) -> SumState:
        state = SumState()
        self._names[id(state)] = node
        return state

    def observe(self, state: SumState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        self.seen[moment.epoch, self._names[id(state)]] = list(arriving), list(expiring)
        change = int(arriving.sums.sum()) - int(expiring.sums.sum())
        return [Post(COORDINATOR, Change(change))] if change else []


class Teacher(InnerRole[SumState]):
    State = SumState

    def __init__(self, ask: Ask, owns_up: bool) -> None:
        super().__init__(ask)
        self.owns_up = owns_up

    def start(self, node: str) -> SumState:
        return SumState()

    def receive(self, state: SumState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        for delivery in inbox:
            assert isinstance(delivery.letter, Change)
            state.sum += delivery.letter.by
        return ()

    def answers(self, state: SumState, moment: Moment) -> Answers:
        partial = self.owns_up and bool(moment.missing)
        return Answers.of([Answer(COORDINATOR, moment.end, "", None, state.sum, state.sum, state.sum, partial=partial)])


class Telling(Method):
    """`owns_up`: whether an answer is partial where a site is missing."""

    name = "telling"
    question = Sum()
    letters = (Change,)

    def __init__(self, window: Window | None = None, owns_up: bool = True) -> None:
        super().__init__(Ask(Keys(), self.Options(), window or Window()))
        self.site, self.inner = Teller(self.ask), Teacher(self.ask, owns_up)

    @property
    def seen(self) -> dict[tuple[int, str], tuple[list[tuple[str, int]], list[tuple[str, int]]]]:
        assert isinstance(self.site, Teller)
        return self.site.seen


class TellingTotals(Telling):
    """Its sites take in one number a cell."""

    name = "telling-totals"

    def summary(self) -> Total:
        return Total(self.ask.measure)


class TellingForEver(Telling):
    """Its sites are not told what leaves the window, so that it never does."""

    name = "telling-for-ever"
    needs_expiring = False
