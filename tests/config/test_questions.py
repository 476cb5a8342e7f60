"""What a question or a method cannot do, and what they need, are faults of the monitor's keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from monitoring_lib import config, protocols
from monitoring_lib.config import checks_together
from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.errors import ConfigError
from monitoring_lib.methods import Ask, Keys, Method, Question, Truth
from monitoring_lib.summaries import Measure, Summary
from tests.keyed import Keyed

from .conftest import SOURCE

WIDE = SOURCE + "values: {late: {column: late, scale: 1000}}\ntick: 1h\nscale: 10\n"


@dataclass(frozen=True)
class Pairs(Keyed):
    names: tuple[str, ...] = ("item", "by")


class PairParams(Keys):
    object: str = "site"
    value: str | None = None
    share: float = 0.1
    levels: tuple[str, ...] = ()


class PairQuestion(Question):
    name = "pairs"
    Params = PairParams
    default_method = "plain"
    baseline = "plain"
    shape = "rows"
    windows = frozenset(("sliding",))
    window_in_ticks = True
    of_pairs = True

    def keys(self, params: PairParams) -> Mapping[str, str]:
        return {"object": params.object}

    def measure(self, params: PairParams) -> Measure | None:
        return None if params.value is None else Measure.parse(params.value)

    def needs(self, params: PairParams) -> tuple[str, ...]:
        return ("by",)

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        if ask.params.share > 0.5:
            yield KeyFault(("share",), "is more than half", "write less")

    def exact(self, ask: Ask) -> Summary:
        return Pairs(("item", "by", "object", "tick"), str(ask.measure))

    def truth(self, ask: Ask) -> Truth:
        raise NotImplementedError

    def promise(self, ask: Ask) -> str:
        return f"within {ask.span} ticks"

    def meaning(self, ask: Ask) -> str:
        return ""


class PlainOptions(Keys):
    bitmaps: int = 8
    seed: int = 0


class Plain(Method):
    name = "plain"
    question = PairQuestion()
    Options = PlainOptions
    letters = ()

    def placement(self) -> tuple[str, ...]:
        return self.ask.params.levels

    def faults(self) -> Iterable[KeyFault]:
        if self.ask.options.bitmaps < 4:
            yield KeyFault(("options", self.name, "bitmaps"), "are too few", "write 4 or more")


class Foreign(Plain):
    """Takes in events by a key that no monitor names."""

    name = "foreign"

    def summary(self) -> Summary:
        return Pairs(("item", "colour"))


@pytest.fixture(autouse=True)
def _toys(monkeypatch: pytest.MonkeyPatch) -> None:
    known = protocols.methods() | {("pairs", "plain"): Plain, ("pairs", "foreign"): Foreign}

    def found(question: str | None = None) -> dict[tuple[str, str], type[Method]]:
        return {key: method for key, method in known.items() if question in (None, key[0])}

    monkeypatch.setattr(protocols, "methods", found)
    monkeypatch.setattr(checks_together, "methods", found)


Write = Callable[..., Path]
SOUND = "name: m\nquestion: pairs\nsource: flights\nby: site\nwindow: 3h\n"


def loaded(conf: Write, text: str = SOUND) -> tuple[Any, Any]:
    found = config.load(conf({"base/sources/flights.yml": WIDE, "base/monitors/m.yml": text}))
    return found.monitors["m"], found.sources["flights"]


def test_an_ask_says_window_span_scale_measure_and_calendar(conf: Write):
    monitor, source = loaded(conf, SOUND + "value: mean(late)\nconfidence: 0.8\noptions: {plain: {seed: 7}}\n")
    ask = monitor.ask(source)
    assert (ask.window.length, ask.span, ask.ticks, ask.scale) == (1, 3, 24, 1000)  # 3 hours begin in one epoch
    assert (str(ask.measure), ask.confidence, ask.options.seed) == ("mean(late)", 0.8, 7)
    assert monitor.promise(source) == "within 3 ticks"
    [chosen, shadows] = monitor.method_objects(source)
    assert (chosen.ask, shadows) == (ask, ())


def test_an_intake_maps_each_key_to_its_expression(conf: Write):
    monitor, source = loaded(conf, SOUND + "object: lower(item)\nwhere: value > 3\ntick: 30m\n")
    intake = monitor.intake(monitor.summaries(source)[0], source)
    assert intake.keys == {"item": "item", "by": "site", "object": "lower(item)"}
    assert (intake.tick, intake.where) == (1_800_000_000, "value > 3")
    with pytest.raises(ConfigError, match="needs the key 'colour', and nothing names it"):
        monitor.intake(Pairs(("colour",)), source)


@pytest.mark.parametrize(
    ("text", "field", "problem", "remedy"),
    [
        (SOUND.replace("3h", "90m"), "window", "is not a whole number of ticks of 1h", "write 1h or 2h"),
        (SOUND.replace("window: 3h\n", ""), "window", "pairs needs a window of a length", "window: 1h"),
        (SOUND.replace("window: 3h", "reset: 2d"), "reset", "pairs has no reset", "drop `reset`"),
        (SOUND.replace("by: site\n", ""), "by", "is missing, and pairs needs it", "add `by: ...`"),
        (SOUND.replace("by: site", "by: dst"), "by", "the source 'flights' has no column 'dst'", "known: item, site"),
        (SOUND.replace("by: site", "by: value"), "by", "column 'value' holds a number, not a text", "known: item"),
        (SOUND + "share: 0.7\n", "share", "is more than half", "write less"),
        (SOUND + "object: sit\n", "object", "the source 'flights' has no column 'sit'", "did you mean 'site'?"),
        (SOUND + "object: lower(\n", "object", "position 7", ""),
        (SOUND + "value: mean(lte)\n", "value", "has no value 'lte'", "did you mean 'late'?"),
        (SOUND + "levels: [item, citty]\n", "levels", "has no column 'citty'", "known"),
        (SOUND + "options: {plain: {bitmaps: 2}}\n", "options.plain.bitmaps", "are too few", "4 or more"),
        (SOUND + "method: foreign\n", "method", "takes in events by the key 'colour'", "named: item, by, object"),
        (SOUND + "shadow: [foreign]\n", "shadow[0]", "takes in events by the key 'colour'", "named: item, by, object"),
        (SOUND + "measure: sum(lte)\n", "measure", "has no value 'lte'", "did you mean 'late'?"),
    ],
)
def test_each_is_told_with_key_and_remedy(conf: Write, text: str, field: str, problem: str, remedy: str):
    folder = conf({"base/sources/flights.yml": WIDE, "base/monitors/m.yml": text})
    found = config.faults(folder)
    if "reset" in text:  # a window is missing then, too
        found = [fault for fault in found if fault.field != "window"]
    assert [fault.field for fault in found] == [field], list(map(str, found))
    assert problem in found[0].problem
    assert remedy in found[0].remedy
    assert found[0].file.endswith("monitors/m.yml")


def test_a_sliding_window_is_a_fault_where_a_question_has_none(conf: Write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(PairQuestion, "windows", frozenset(("growing",)))
    [fault] = config.faults(conf({"base/sources/flights.yml": WIDE, "base/monitors/m.yml": SOUND}))
    assert (fault.field, fault.value, fault.problem) == ("window", "'3h'", "pairs has no sliding window")


def test_the_command_line_tells_them_with_exit_code_2(conf: Write, monkeypatch: pytest.MonkeyPatch):
    from jobs.command.cli import app

    folder = conf({"base/sources/flights.yml": WIDE, "base/monitors/m.yml": SOUND + "where: late > x\n"})
    monkeypatch.setenv("FARWATCH_CONF", str(folder))
    result = CliRunner().invoke(app, ["check-config"])
    assert result.exit_code == 2
    assert "monitors/m.yml:6: where: 'late > x': the source 'flights' has no column 'x'" in result.output.replace(
        "\n", ""
    )
