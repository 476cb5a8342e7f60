"""A monitor: a configured question about a source, with its method and the methods it shadows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field

from monitoring_lib.config.fields import Duration, ExpressionText, Name, WindowLength
from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.protocols import find_method, find_question

Measure = Literal["count", "sum(value)"]


class MonitorKeys(Keys):
    """What every monitor may say; the question adds keys of its own."""

    name: Name = Field(description="by default the name of the file")
    title: str = Field(default="", description="for people, where the name is too short")
    question: str = Field(description="what is asked, such as top-k")
    source: str | None = Field(default=None, description="the source it is asked about")
    item: ExpressionText = Field(default="item", description="a column of the source, or an expression of them")
    measure: Measure = Field(default="count", description="count, or sum(value)")
    window: WindowLength = Field(default=None, description="growing, or how far back events count; whole epochs")
    reset: Duration | None = Field(default=None, description="how often a growing window starts anew; whole epochs")
    method: str | None = Field(default=None, description="how it is answered; the question has a default")
    shadow: list[str] = Field(default_factory=list, description="methods that are costed beside it, not published")
    options: dict[str, dict[str, Any]] = Field(default_factory=dict, description="method: {its options}")


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
    measure: Measure = "count"
    window: int | None = None
    reset: int | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """The chosen method, then the shadows."""
        return (self.method, *self.shadow)

    def ask(self, epoch: int, scale: int, method: str | None = None) -> Ask:
        """This monitor as the nodes of a method see it, over epochs of that many microseconds.

        Counts are whole by themselves: `scale` is that of the values and matters to sums only.
        """
        name = method or self.method
        window = Window(_epochs(self.window, epoch), _epochs(self.reset, epoch))
        options = self.options.get(name) or find_method(self.question, name).Options()
        return Ask(self.params, options, window, scale if self.measure == "sum(value)" else 1)

    def method_objects(self, epoch: int, scale: int) -> tuple[Method, tuple[Method, ...]]:
        """The chosen method and the shadows, ready to run."""
        chosen, *shadows = (find_method(self.question, name)(self.ask(epoch, scale, name)) for name in self.methods)
        return chosen, tuple(shadows)

    def promise(self, epoch: int, scale: int) -> str:
        return find_question(self.question).promise(self.ask(epoch, scale))


def _epochs(duration: int | None, epoch: int) -> int | None:
    if duration is None:
        return None
    if duration % epoch:
        raise ValueError(f"{duration} us are not a whole number of epochs of {epoch} us")
    return duration // epoch
