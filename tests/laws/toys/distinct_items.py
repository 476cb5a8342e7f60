"""A sketch of hashes as what sites take in: how many different items are there? The truth sees the items themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import Field

from monitoring_lib.answers import Answer, Answers, Verdicts
from monitoring_lib.codec import Image
from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.methods import Ask, Keys, Moment, Truth
from monitoring_lib.network import COORDINATOR, Delivery, Letter, Post
from monitoring_lib.summaries import Cell, Rows, Summary
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.synopses.fm import FM
from tests.laws.toys.plain import PlainInner, PlainMethod, PlainQuestion, PlainSite, judge_number, number


class DistinctItems(PlainQuestion):
    """How many different items there are."""

    name, default_method, baseline, shape = "distinct-items", "sketching", "exact", "number"
    windows = frozenset(("growing", "reset"))
    promised = "within the error of the sketch (with confidence)"

    def exact(self, ask: Ask) -> ItemCounts:
        return ItemCounts()

    def truth(self, ask: Ask) -> Truth:
        return ItemTruth()


class ItemTruth(Truth):
    def __init__(self) -> None:
        self.seen: dict[int, set[str]] = {}

    def observe(self, moment: Moment, node: str, arriving: Counts, expiring: Counts) -> None:
        self.seen.setdefault(moment.period, set()).update(arriving.names)

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        return judge_number(moment, answers, "different items", len(self.seen.get(moment.period, ())))


@dataclass(frozen=True)
class Sketched(Summary):
    bitmaps: int
    seed: int
    in_parts, hashed, synopsis = True, True, FM

    @property
    def keys(self) -> tuple[str, ...]:
        return ("item",)

    def build(self, cell: Cell, rows: Rows) -> FM:
        (sketch := FM.of_size(self.bitmaps, seed=self.seed)).update_hashes(rows.keys["item"].to_numpy())
        return sketch


@dataclass(slots=True)
class Sketch(Letter, tag=1, version=1):
    sketch: FM


@dataclass(slots=True)
class SketchState(Image, tag=2, version=1):
    period: int = 0
    sketch: FM | None = None

    def take(self, period: int, sketches: Sequence[FM]) -> bool:
        """Whether the sketch has changed."""
        known = [] if self.sketch is None or self.period != period else [self.sketch]
        before = known[0].bits if known else -1
        self.period, self.sketch = period, FM.merge_all([*known, *sketches]) if known or sketches else None
        return self.sketch is not None and self.sketch.bits > before


class SketchSite(PlainSite[SketchState]):
    State = SketchState

    def observe(self, state: SketchState, moment: Moment, arriving: FM, expiring: FM) -> Iterable[Post]:
        changed = arriving.bits and state.take(moment.period, [arriving])
        return [Post(COORDINATOR, Sketch(state.sketch))] if changed and state.sketch else []


class SketchCoordinator(PlainInner[SketchState]):
    State = SketchState

    def receive(self, state: SketchState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        state.take(moment.period, [delivery.letter.sketch for delivery in inbox if isinstance(delivery.letter, Sketch)])
        return ()

    def answers(self, state: SketchState, moment: Moment) -> Answers:
        if state.sketch is None:
            return number(moment, 0)
        bound = state.sketch.bound(self.ask.confidence)
        estimate = min(bound.high, max(bound.low, state.sketch.estimate()))
        row = Answer(COORDINATOR, moment.end, "", None, estimate, bound.low, bound.high, bound.confidence)
        return Answers.of([row])


class SketchOptions(Keys):
    bitmaps: int = Field(default=64, gt=0, description="how many bitmaps the sketch has")
    seed: int = Field(default=0, description="of the hash")


class Sketching(PlainMethod):
    """A site sends its sketch where a bit of it has changed."""

    name, question, letters, roles = "sketching", DistinctItems(), (Sketch,), (SketchSite, SketchCoordinator)
    Options = SketchOptions
    needs_expiring = False

    def summary(self) -> Sketched:
        return Sketched(self.ask.options.bitmaps, self.ask.options.seed)


METHODS = (Sketching,)
