"""`farwatch plan`: what it predicts is what a run then sends; what it cannot replay, it says."""

from __future__ import annotations

import csv
import json
import lzma
import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from jobs.command.cli import command
from jobs.costing.budget import Budget
from jobs.costing.plan import PlanComparison, plan
from jobs.looking.page.compared import comparison
from jobs.simulation.simulate import Cost
from monitoring_lib.errors import NotNow, UsageError
from monitoring_lib.tables import DRAFTS, MESSAGES
from tests.jobs.sealed_home import BUSIEST, SealedHome
from tests.jobs.sealed_run import Event

HOURS = 9
AWAY = {3: "south", 4: "south", 6: "east"}
BUSY = BUSIEST | {"window": "3h"}
DISTINCT = {"name": "busiest", "question": "distinct-count", "source": "shop", "error": 0.2, "method": "exact"}
TREE = {
    "name": "busiest", "question": "frequent-items", "source": "shop", "support": 0.1, "error": 0.05, "decay": 0.9,
    "tree": {"fanout": 2},
}  # fmt: skip
RECENT = {
    "name": "busiest", "question": "recent-counts", "item": "item", "source": "shop", "window": "3h", "error": 0.2,
    "queries": [{"name": "one", "point": "item 1", "range": "2h"}],
}  # fmt: skip


def made_up() -> list[Event]:
    """West joins late; some hours of some sites are empty."""
    draw = random.Random(7)
    return [
        (hour, site, f"item {int(draw.paretovariate(0.8)) % 12}")
        for hour in range(HOURS)
        for site in ("north", "south", "east", *(["west"] if hour > 2 else []))
        for _ in range(draw.randrange(0, 30))
    ]


def flights(traces: Path) -> list[Event]:
    """One morning of the busiest airports: an event is a departure at an airport, its item where it goes to."""
    with lzma.open(traces / "flights_2001_jan-apr.csv.xz", "rt") as file:
        rows = []
        for row in csv.DictReader(file):
            if row["time"][:10] != "2001-01-01":
                break
            rows.append((int(row["time"][11:13]), row["site"], row["item"]))
    busiest = ("ATL", "DFW", "DTW", "LAX", "MSP", "ORD", "PHX", "STL")
    first = min(hour for hour, _, _ in rows)
    return [(hour - first, site, item) for hour, site, item in rows if site in busiest and hour - first < HOURS]


def sealed(home: Path, monitor: Mapping[str, Any], events: list[Event], away: Mapping[int, str] = AWAY) -> SealedHome:
    """The epochs run one stretch after the other, of each the same sites away."""
    home.mkdir()
    made = SealedHome(home, monitors=(monitor,))
    made.land(events)
    begin = 0
    for hour in range(1, HOURS + 1):
        if hour == HOURS or away.get(hour) != away.get(begin):
            made.run(begin, hour, {away[begin]: "late"} if begin in away else {})
            begin = hour
    return made


def sent_by(home: SealedHome) -> tuple[Cost, int]:
    """What the tables say that the run's method sent, and how many rows it published."""
    context, cost = home.context(), Cost()
    seals = context.lake.ledger.seals("shop", "busiest")
    assert len(seals) == HOURS
    for row in context.lake.sealed(MESSAGES, seals, ["inbox", "messages"], [("monitor", "=", "busiest")]).to_pylist():
        cost.messages += len(row["receivers"])
        cost.entries += row["entries"]
        cost.bytes += row["bytes"]
    return cost, context.lake.sealed(DRAFTS, seals, ["drafts"], [("monitor", "=", "busiest")]).num_rows


def predicted(result: PlanComparison) -> dict[str, tuple[Cost, int]]:
    return {one.variant.label: (one.cost, one.widths.rows) for one in result.outcomes}


CASES = {
    "another method": (BUSY, {"method": "margins"}),
    "another tolerance": (BUSY, {"tolerance": 1}),
    "another window": (BUSY, {"window": "2h"}),
    "a growing window": (BUSY, {"window": "growing"}),
    "a sketch of exact counts": (DISTINCT, {"method": "repaid-sharing", "error": 0.1}),
    "a tree": (TREE, {"method": "gradient"}),
    "merges in the rhythm of what is owed": (RECENT, {"error": 0.1}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_prediction_is_what_a_run_of_that_variant_then_sends(tmp_path: Path, case: str) -> None:
    monitor, change = CASES[case]
    first = sealed(tmp_path / "first", monitor, made_up())
    tried = [f"{key}={value}" for key, value in change.items() if key != "method"]
    result = plan(first.context(), "busiest", change.get("method"), tried)
    own = str(first.context().config.monitor("busiest").method)
    found = predicted(result)
    assert found[own] == sent_by(first)
    [label] = [name for name in found if name == ", ".join(
        [change.get("method", own), *(f"{key} {value}" for key, value in change.items() if key != "method")]
    )]  # fmt: skip
    again = sealed(tmp_path / "again", monitor | change, made_up())
    assert found[label] == sent_by(again)
    assert found[label][0].bytes > 0


def test_on_real_flights_too(tmp_path: Path, traces: Path) -> None:
    events = flights(traces)
    assert len(events) > 500
    first = sealed(tmp_path / "first", BUSY, events, away={})
    found = predicted(plan(first.context(), "busiest"))
    for method in ("margins", "constraints"):
        again = sealed(tmp_path / method, BUSY | {"method": method}, events, away={})
        assert found[method] == sent_by(again)
    assert {"caching", "caching, tolerance 1", "caching, tolerance 2", "caching, tolerance 8"} <= set(found)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> SealedHome:
    return sealed(tmp_path_factory.mktemp("plan") / "home", BUSY, made_up())


def test_only_the_epochs_asked_for_count(home: SealedHome) -> None:
    parts = [
        plan(home.context(), "busiest", "margins", start=start, end=end)
        for start, end in (("", "2020-01-01T04:00"), ("2020-01-01T04:00", ""), ("", ""))
    ]
    assert [part.span.epochs for part in parts] == [4, HOURS - 4, HOURS]
    costs = [[one.cost.bytes for one in part.outcomes] for part in parts]
    assert [early + late for early, late in zip(*costs[:2], strict=True)] == costs[2]
    with pytest.raises(NotNow, match="no sealed epoch lies between 2021-01-01"):
        plan(home.context(), "busiest", start="2021-01-01")


def test_the_recommendation_names_what_promises_as_much_for_less(home: SealedHome) -> None:
    result = plan(home.context(), "busiest")
    own, *others = result.outcomes
    assert own.variant.configured
    as_precise = [one for one in others if (one.variant.precision or 0) <= 4]
    best = min([own, *as_precise], key=lambda one: (one.cost.bytes, one.variant.precision))
    assert best.variant.label in result.recommendation
    assert result.recommendation.count(".") - result.recommendation.count("kB") <= 2
    assert not any(one.variant.label in result.recommendation for one in others if (one.variant.precision or 0) > 4)


def test_a_budget_finds_the_tightest_promise_that_fits(home: SealedHome) -> None:
    spent = {
        one.variant.precision: one.bytes_a_day
        for one in plan(home.context(), "busiest", tried=["tolerance=0,5,50"]).outcomes
    }
    result = plan(home.context(), "busiest", "caching", budget=f"{math.ceil(spent[5])}B/day")
    [found] = result.outcomes
    assert found.bytes_a_day <= math.ceil(spent[5])
    assert found.variant.precision is not None
    assert found.variant.precision <= 5
    assert "is the tightest promise that fits" in result.recommendation


@pytest.mark.parametrize(
    ("text", "unit", "a_day"),
    [("1MB/day", "bytes", 1e6), ("20 kB / hour", "bytes", 480e3), ("500 entries/1w", "entries", 500 / 7)],
)
def test_budgets_are_an_amount_and_a_time(text: str, unit: str, a_day: float) -> None:
    found = Budget.parse(text)
    assert (found.unit, found.a_day) == (unit, pytest.approx(a_day))


@pytest.mark.parametrize("text", ["1MB", "MB/day", "1 apple/day", "1MB/fortnight", ""])
def test_what_is_no_budget_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="such as 1MB/day"):
        Budget.parse(text)


def test_a_variant_that_needs_other_synopses_is_left_out_with_the_reason(tmp_path: Path) -> None:
    monitor = DISTINCT | {"method": "repaid-sharing"}
    home = sealed(tmp_path / "home", monitor, made_up(), away={})
    result = plan(home.context(), "busiest", tried=["error=0.2,0.1,7"])
    assert [one.variant.label for one in result.outcomes] == ["repaid-sharing", "repaid-sharing, error 0.2"]
    why = {one.label: one.why for one in result.left_out}
    assert "takes in other synopses than were made in epoch 2020-01-01" in why["repaid-sharing, error 0.1"]
    assert "`exact`" in why["repaid-sharing, error 0.1"]
    assert "less than 1" in why["repaid-sharing, error 7"]
    budgeted = plan(home.context(), "busiest", "repaid-sharing", budget="1B/day")
    assert budgeted.recommendation.startswith("Nothing that was tried fits into 1B/day: repaid-sharing comes nearest")
    assert "takes in other synopses" in budgeted.left_out[0].why


@pytest.fixture
def farwatch(home: SealedHome, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """The command, in this process."""
    for name, value in home.environment.items():
        monkeypatch.setenv(name, value)
    return lambda *arguments: command()(list(arguments), standalone_mode=False)


def test_the_command_tells_people_and_machines(
    farwatch: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    farwatch("plan", "busiest", "--methods", "margins")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"busiest: {HOURS} sealed epochs, 2020-01-01 to 2020-01-01T09:00")
    assert lines[2].startswith("caching (configured)")
    farwatch("plan", "busiest", "--try", "tolerance=4,8", "--budget", "1MB/day", "--json")
    plain = json.loads(capsys.readouterr().out)
    assert [one["fits"] for one in plain["variants"]] == [True] * 3
    assert plain["variants"][0].keys() >= {"promise", "bytes_a_day", "entries_a_day", "messages_a_day", "width"}


def test_what_is_kept_is_what_the_page_shows(
    home: SealedHome, farwatch: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert comparison(home.context(), "busiest") is None
    for method in ("margins", "caching"):
        farwatch("plan", "busiest", "--methods", method, "--keep", "--json")
        told = json.loads(capsys.readouterr().out)
    shown = comparison(home.context(), "busiest")
    assert shown is not None
    assert [one["variant"] for one in shown["variants"]] == [one["variant"] for one in told["variants"]]
    assert [one["bytes_a_day"] for one in shown["variants"]] == [one["bytes_a_day"] for one in told["variants"]]
    assert (shown["from"], shown["to"], shown["advice"]) == (told["from"], told["to"], told["recommendation"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--methods", "margin"), "did you mean 'margins'"),
        (("--try", "tolerance"), "such as tolerance=10,50"),
        (("--budget", "much"), "such as 1MB/day"),
        (("--from", "soon"), "--from/--to"),
    ],
)
def test_wrong_use_is_told(farwatch: Callable[..., None], arguments: tuple[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        farwatch("plan", "busiest", *arguments)


def test_before_anything_is_sealed_it_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(NotNow, match=r"no epoch is sealed yet.*`farwatch run --source shop --from 2020-01-01"):
        plan(SealedHome(tmp_path).context(), "busiest")
