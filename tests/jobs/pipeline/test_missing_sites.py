"""Sites that are set aside: named in the seal, left out of the truth, back with the next good epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from jobs.epoch.context import Context
from jobs.lake.seals import Seal
from monitoring_lib.answers import Answer, Answers
from monitoring_lib.epochs import Clock, to_microseconds
from monitoring_lib.methods import Method, Moment
from monitoring_lib.network import node_of_site
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tables import ANSWERS, EVENTS, VALIDATIONS
from monitoring_lib.topology import Roster
from tests.jobs.pipeline.deployment import BUSIEST, HOUR, RECENT, SOURCE, Deployment, shopping

pytestmark = pytest.mark.spark
EPOCHS = 8
LATE_STARTER, OUT, WILD = "site 3", "site 1", "site 2"
SET_ASIDE = 5
"""The epoch in which events were set aside: answers whose window holds it are partial."""
MONITORS = (BUSIEST | {"method": "margins"}, RECENT, RECENT | {"name": "recent-margins", "method": "margins"})
STRICT = SOURCE | {"quality": {"freshness": 0, "ranges": {"value": [0, 100]}}}


def events() -> dict[int, list[tuple[int, str, str, int]]]:
    """An outage of one site over two epochs, values out of range at another in one, a site that joins late."""
    hours = shopping(9, EPOCHS)
    for hour in (3, 4):
        hours[hour] = [row for row in hours[hour] if row[1] != OUT]
    for hour in (0, 1):
        hours[hour] = [row for row in hours[hour] if row[1] != LATE_STARTER]
    hours[5].append((5 * HOUR + 7, WILD, "item 1", 5000))
    return hours


@pytest.fixture
def deployed(deploy: Callable[..., Deployment]) -> Deployment:
    made = deploy(source=STRICT, monitors=MONITORS)
    for hour, rows in events().items():
        made.add_file(f"{hour}.csv", rows)
    made.run(0, 4)
    made.run(4, EPOCHS)
    return made


def missing(deployed: Deployment, monitor: str) -> dict[int, list[str]]:
    seals = deployed.context().lake.ledger.seals("shop", monitor)
    return {number: list(seal.missing_sites) for number, seal in enumerate(seals) if seal.missing_sites}


def test_a_silent_site_and_one_with_wild_values_are_set_aside_and_named(deployed: Deployment) -> None:
    for monitor in MONITORS:
        assert missing(deployed, monitor["name"]) == {3: [OUT], 4: [OUT], 5: [WILD]}
    failed = [row for row in deployed.rows(VALIDATIONS) if not row["success"] and row["site"]]
    assert {row["site"] for row in failed} == {OUT, WILD}
    assert all(row["severity"] == "critical" and row["detail"] for row in failed)


def test_every_answer_is_valid_against_the_events_of_the_sites_that_took_part(deployed: Deployment) -> None:
    context = deployed.context()
    for monitor in MONITORS:
        assert judged(deployed, context, monitor) == EPOCHS


def judged(deployed: Deployment, context: Context, named: Mapping[str, Any]) -> int:
    """Judges every epoch of a monitor by the sealed events; how many epochs that were."""
    source, monitor = context.config.source("shop"), context.config.monitor(named["name"])
    seals = context.lake.ledger.seals(source.name, monitor.name)
    method, _ = monitor.method_objects(source)
    truth, window = method.question.truth(method.ask), method.ask.window
    counted = count_events(deployed, monitor.measure)
    published = deployed.rows(ANSWERS)
    roster, last_seen = Roster(), dict[str, int]()
    for epoch, seal in enumerate(seals):
        roster = roster.joined({node_of_site(site): () for site in seal.joined_sites})
        moment = moment_of(method, source.clock, epoch, roster, seal.missing_sites)
        for site in moment.present:
            leaving = [
                counted.get((site, at), Counts())
                for at in window.leaving(last_seen.get(site, -1), epoch)
                if took_part(seals, site, at)
            ]
            truth.observe(moment, site, counted.get((site, epoch), Counts()), Counts.merge_all([Counts(), *leaving]))
            last_seen[site] = epoch
        answers = Answers.of(answer(row) for row in published if of(row, monitor.name, seal))
        verdicts = truth.judge(moment, answers)
        assert len(verdicts)
        assert all(verdicts.column("kept")), (monitor.name, epoch, list(verdicts))
        if moment.owed:
            assert set(answers.column("partial")) == {True}
    return len(seals)


def moment_of(method: Method, clock: Clock, epoch: int, roster: Roster, missing: Sequence[str]) -> Moment:
    return Moment(
        epoch, clock.start_of(epoch), clock.end_of(epoch), method.ask.window.period_of(epoch),
        method.topology(roster), roster.sites, frozenset(map(node_of_site, missing)),
        owed=SET_ASIDE in method.ask.window.members(epoch),
    )  # fmt: skip


def took_part(seals: list[Seal], site: str, epoch: int) -> bool:
    return site not in seals[epoch].missing_sites


def of(row: Mapping[str, Any], monitor: str, seal: Seal) -> bool:
    return bool(row["monitor"] == monitor and to_microseconds(row["epoch_start"]) == seal.epoch_start)


def answer(row: Mapping[str, Any]) -> Answer:
    names = ("key", "rank", "estimate", "low", "high", "confidence", "partial")
    return Answer(row["node"], to_microseconds(row["tick"]), *(row[name] for name in names))


def count_events(deployed: Deployment, measure: str) -> dict[tuple[str, int], Counts]:
    counted: dict[tuple[str, int], dict[str, int]] = {}
    for row in deployed.rows(EVENTS):
        epoch = (to_microseconds(row["epoch_start"]) - 1_577_836_800_000_000) // (HOUR * 1_000_000)
        sums = counted.setdefault((row["site"], epoch), {})
        sums[row["item"]] = sums.get(row["item"], 0) + (1 if measure == "count" else row["value"])
    return {key: Counts.of_pairs(sums.items()) for key, sums in counted.items()}
