"""What the toys have in common: few words, states that start empty, and a judge of single numbers."""

from __future__ import annotations

import math
from typing import Any, ClassVar, TypeVar

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.codec import Image
from monitoring_lib.methods import Ask, InnerRole, Keys, Method, Moment, Question, SiteRole
from monitoring_lib.network import COORDINATOR


class PlainQuestion(Question):
    """A question without parameters whose promise is the same for every monitor."""

    Params: ClassVar[type[Keys]] = Keys
    promised: ClassVar[str] = "exact (always)"

    def promise(self, ask: Ask) -> str:
        return self.promised

    def meaning(self, ask: Ask) -> str:
        return (self.__doc__ or "").splitlines()[0]


S = TypeVar("S", bound=Image)


class PlainSite(SiteRole[S]):
    def start(self, node: str) -> S:
        return self.State()


class PlainInner(InnerRole[S]):
    def start(self, node: str) -> S:
        return self.State()


class PlainMethod(Method):
    """A method that says its roles."""

    roles: ClassVar[tuple[type[SiteRole[Any]], type[InnerRole[Any]]]]

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site, self.inner = self.roles[0](ask), self.roles[1](ask)


def number(moment: Moment, estimate: float, partial: bool = False) -> Answers:
    """The coordinator's answer, where it is exact."""
    return Answers.of([Answer(COORDINATOR, moment.end, "", None, estimate, estimate, estimate, partial=partial)])


def judge_row(row: Answer, promise: str, exact: float) -> Verdict:
    width, kept = max(row.high - row.estimate, row.estimate - row.low), row.low <= exact <= row.high
    return Verdict(
        row.node, row.tick, row.key, promise, exact, abs(row.estimate - exact), width, kept, row.confidence
    )  # fmt: skip


def judge_number(moment: Moment, answers: Answers, promise: str, exact: float) -> Verdicts:
    """One number at the epoch's end, no more and no less."""
    rows = list(answers)
    if [(row.node, row.tick, row.key) for row in rows] != [(COORDINATOR, moment.end, "")]:
        return Verdicts.of([Verdict(COORDINATOR, moment.end, "", promise, exact, math.inf, 0, kept=False)])
    return Verdicts.of([judge_row(rows[0], promise, exact)])
