"""A monitor: a configured question about a source, with its method and the methods it shadows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from monitoring_lib.config.alerting import Rule, Rules
from monitoring_lib.config.fields import Begin, ConditionText, Duration, MeasureText, Name, WindowLength
from monitoring_lib.config.source import Quality, Source
from monitoring_lib.epochs import Window
from monitoring_lib.errors import ConfigError
from monitoring_lib.key_texts import ExpressionText
from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.protocols import find_method, find_question
from monitoring_lib.summaries import TICK, Intake, Measure, Summary


class MonitorKeys(Keys):
    """What every monitor may say; the question adds keys of its own."""

    name: Name = Field(description="by default the name of the file")
    title: str = Field(default="", description="for people, where the name is too short")
    question: str = Field(description="what is asked, such as top-k")
    source: str | None = Field(default=None, description="the source it is asked about")
    item: ExpressionText = Field(default="item", description="a column of the source, or an expression of them")
    by: ExpressionText | None = Field(default=None, description="a second one, where a question is about pairs")
    where: ConditionText | None = Field(default=None, description="only events for which it is true are asked about")
    measure: MeasureText = Field(
        default="count", description="count, or sum last mean min max count of a value: sum(value)"
    )
    tick: Duration | None = Field(default=None, description="the finest unit of time; by default the source's")
    begin: Begin | None = Field(
        default=None, description="its first epoch: first, origin or a time; by default as the source says"
    )
    confidence: float = Field(default=0.95, gt=0, lt=1, description="of what is promised with a probability")
    window: WindowLength = Field(default=None, description="growing, or how far back events count; whole epochs")
    reset: Duration | None = Field(default=None, description="how often a growing window starts anew; whole epochs")
    method: str | None = Field(default=None, description="how it is answered; the question has a default")
    shadow: list[str] = Field(default_factory=list, description="methods that are costed beside it, not published")
    options: dict[str, dict[str, Any]] = Field(default_factory=dict, description="method: {its options}")
    quality: Quality | None = Field(
        default=None, description="what this monitor asks of the data, beside what the source asks"
    )
    alert: Rules = Field(default_factory=list, description="a rule over its own answers, or a list of them")


@dataclass(frozen=True, slots=True)
class Monitor:
    """A monitor whose every part is valid. Durations are microseconds; `window` None is growing."""

    name: str
    question: str
    source: str | None
    params: Keys
    method: str
    shadow: tuple[str, ...] = ()
    options: Mapping[str, Keys] = field(default_factory=dict)
    title: str = ""
    item: str = "item"
    by: str | None = None
    where: str | None = None
    measure: str = "count"
    tick: int | None = None
    confidence: float = 0.95
    window: int | None = None
    reset: int | None = None
    begin: str | int | None = None
    quality: Quality | None = None
    """A site that fails it is missing for this monitor alone."""
    alert: tuple[Rule, ...] = ()
    """What is told of its answers; no answer depends on it."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The chosen method, then the shadows."""
        return (self.method, *self.shadow)

    @property
    def measured(self) -> Measure:
        """What is measured: as the question's own keys say, or as `measure` does."""
        return find_question(self.question).measure(self.params) or Measure.parse(self.measure)

    def ask(self, source: Source, method: str | None = None) -> Ask:
        """This monitor as the nodes of a method see it, over the epochs and ticks of a source."""
        name = method or self.method
        measure, tick = self.measured, self.tick or source.tick
        return Ask(
            params=self.params,
            options=self.options.get(name) or find_method(self.question, name).Options(),
            window=Window(self._epochs(self.window, source.epoch), self._epochs(self.reset, source.epoch)),
            scale=1 if measure.reduction == "count" else source.scales.get(measure.column, 1),
            measure=measure,
            epoch=source.epoch,
            tick=tick,
            span=None if self.window is None else self.window // tick,
            confidence=self.confidence,
            paired=self.by is not None,
        )

    def method_objects(self, source: Source) -> tuple[Method, tuple[Method, ...]]:
        """The chosen method and the shadows, ready to run."""
        chosen, *shadows = (find_method(self.question, name)(self.ask(source, name)) for name in self.methods)
        return chosen, tuple(shadows)

    def promise(self, source: Source) -> str:
        return find_question(self.question).promise(self.ask(source))

    def key_expressions(self) -> dict[str, str]:
        """What names each key that a summary may ask for, but the tick."""
        by = {} if self.by is None else {"by": self.by}
        return {"item": self.item, **by, **find_question(self.question).keys(self.params)}

    def summaries(self, source: Source) -> tuple[Summary, ...]:
        """What is taken in of the events: by the truth first, then by each method."""
        exact = find_question(self.question).exact(self.ask(source))
        chosen, shadows = self.method_objects(source)
        return (exact, *(method.summary() for method in (chosen, *shadows)))

    def intake(self, summary: Summary, source: Source) -> Intake:
        """The summary of this monitor's events; ConfigError where it asks for a key that nothing names."""
        named = self.key_expressions()
        missing = [key for key in summary.keys if key != TICK and key not in named]
        if missing:
            raise ConfigError(
                f"monitor {self.name}: {type(summary).__name__} needs the key {missing[0]!r}, and nothing names it;"
                f" named: {', '.join(named)}"
            )
        keys = {key: named[key] for key in summary.keys if key != TICK}
        return Intake(summary, keys, self.tick or source.tick, self.where or "")

    def _epochs(self, duration: int | None, epoch: int) -> int | None:
        """Whole epochs; a window that counts ticks takes in the epoch that it begins in."""
        return None if duration is None else -(-duration // epoch)
