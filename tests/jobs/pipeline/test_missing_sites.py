"""Sites that are set aside: named in the seal, left out of the truth, back with the next good epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from jobs.chain import Chain
from jobs.context import Context
from jobs.lake.seals import Seal
from jobs.restoring import moment_of
from monitoring_lib.epochs import to_microseconds
from monitoring_lib.methods import Answer
from monitoring_lib.network import node_of_site
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tables import ANSWERS, EVENTS, VALIDATIONS
from tests.jobs.pipeline.deployment import BUSIEST, HOUR, RECENT, SOURCE, Deployment, shopping

pytestmark = pytest.mark.spark
EPOCHS = 8
LATE_STARTER, OUT, WILD = "site 3", "site 1", "site 2"
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
    method, _ = monitor.method_objects(source.epoch, source.scale)
    truth, window = method.question.truth(method.ask), method.ask.window
    counted = count_events(deployed, monitor.measure)
    published = deployed.rows(ANSWERS)
    chain = Chain(source, monitor, [])
    for epoch, seal in enumerate(seals):
        roster = sorted(chain.roster | set(seal.joined_sites))
        moment = moment_of(chain, method, epoch, roster, seal.missing_sites)
        for site in (site for site in roster if site not in seal.missing_sites):
            leaving = [
                counted.get((site, at), Counts())
                for at in window.leaving(chain.last_seen.get(site, -1), epoch)
                if took_part(seals, site, at)
            ]
            expired = Counts()
            for counts in leaving:
                expired = expired.merge(counts)
            truth.observe(moment, node_of_site(site), counted.get((site, epoch), Counts()), expired)
        chain.extend(seal.epoch_start, seal.joined_sites, seal.missing_sites)
        verdicts = truth.judge(moment, [answer(row) for row in published if of(row, monitor.name, seal)])
        assert verdicts
        assert all(verdict.kept for verdict in verdicts), (monitor.name, epoch, verdicts)
    return len(seals)


def took_part(seals: list[Seal], site: str, epoch: int) -> bool:
    return site not in seals[epoch].missing_sites


def of(row: Mapping[str, Any], monitor: str, seal: Seal) -> bool:
    return bool(row["monitor"] == monitor and to_microseconds(row["epoch_start"]) == seal.epoch_start)


def answer(row: Mapping[str, Any]) -> Answer:
    names = ("key", "rank", "estimate", "low", "high", "confidence")
    return Answer(row["node"], to_microseconds(row["tick"]), *(row[name] for name in names))


def count_events(deployed: Deployment, measure: str) -> dict[tuple[str, int], Counts]:
    counted: dict[tuple[str, int], dict[str, int]] = {}
    for row in deployed.rows(EVENTS):
        epoch = (to_microseconds(row["epoch_start"]) - 1_577_836_800_000_000) // (HOUR * 1_000_000)
        sums = counted.setdefault((row["site"], epoch), {})
        sums[row["item"]] = sums.get(row["item"], 0) + (1 if measure == "count" else row["value"])
    return {key: Counts.of_pairs(sums.items()) for key, sums in counted.items()}
