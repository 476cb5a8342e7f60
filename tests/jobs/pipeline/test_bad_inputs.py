"""Thirteen bad inputs, all at once: each is landed, set aside with its reason or left where it is, and nothing is lost.

One deployment for all: an epoch is sealed, then every bad file comes in beside a good one and the next epoch is run,
then what was refused is put right and the third is run.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.input import files
from jobs.verbs.land import land
from monitoring_lib.epochs import to_microseconds
from monitoring_lib.errors import DataError
from monitoring_lib.tables import ALERTS, ANSWERS, EVENTS, LANDINGS, QUARANTINE, VALIDATIONS, Table
from tests.jobs.pipeline.deployment import BUSIEST, HOUR, ONE_PARTITION, SOURCE, Deployment, shopping

pytestmark = pytest.mark.spark
ORIGIN = 1_577_836_800
LONG = "long " * 2_000 + "!"
QUOTED = "a \"quoted\" 'item', with commas\nand a second\r\nand third line"
UNSEEN = "site ü/../ never seen"
GOOD = "time,site,item,value\n"
REFUSED = ("wrong column.csv", "truncated.csv.gz", "junk.csv", "returns.csv", "vanishing.csv")


def line(second: int, site: str = "site 1", item: str = "item 1") -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([ORIGIN + second, site, item, 1])
    return text.getvalue()


@dataclass
class Landed:
    """What a deployment held after its second run, and what after its third."""

    home: Deployment
    bad: dict[str, list[dict[str, Any]]]
    mended: dict[str, list[dict[str, Any]]]
    first_seals: tuple[Any, Any]

    def landing(self, name: str) -> dict[str, Any] | None:
        """What the landing that the bad files came with says about one of them."""
        found = [row for row in self.bad["landings"] if row["path"].endswith(f"/{name}")]
        assert len(found) <= 1
        return found[0] if found else None

    def counts(self, name: str) -> tuple[int, int, int, int]:
        landing = self.landing(name)
        assert landing is not None
        return landing["read"], landing["landed"], landing["quarantined"], landing["late"]

    def events(self, name: str) -> list[dict[str, Any]]:
        landing = self.landing(name)
        return [row for row in self.bad["events"] if landing and row["digest"] == landing["digest"]]

    def reasons(self, name: str) -> list[str]:
        return [row["reason"] for row in self.bad["quarantine"] if row["path"].endswith(f"/{name}")]

    def refusal(self, name: str, there: bool = True) -> str:
        """Why a file was left where it is; nothing of it has landed, and as long as it is there a person is told."""
        assert self.landing(name) is None
        assert self.reasons(name) == []
        [found] = [row for row in self.bad["validations"] if row["observed"].endswith(f"/{name}")]
        assert (found["step"], found["severity"], found["success"]) == ("land", "critical", False)
        assert found["observed"] not in found["detail"]  # which file it is, the other column says
        assert any(found["observed"] in row["subject"] for row in self.bad["alerts"]) == there
        return str(found["detail"])


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory, spark_remote: str) -> Landed:
    source = SOURCE | {"path": "data/*.csv*"}
    exact = BUSIEST | {"k": 4, "tolerance": 0}
    home = Deployment(tmp_path_factory.mktemp("bad"), source, (exact,), ONE_PARTITION)
    home.add_file("good 0.csv", shopping(41, 1)[0])
    home.run(0, 1)
    first = home.digests(), home.published()
    place_bad_files(home.home / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "find", vanishing(files.find))
        home.run(1, 2)
    bad = kept(home)
    for name in REFUSED:
        content = (GOOD + line(2 * HOUR, item=name)).encode()
        (home.home / "data" / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    home.run(2, 3)
    return Landed(home, bad, kept(home), first)


def place_bad_files(data: Path) -> None:
    hour = HOUR
    contents = {
        "good 1.csv": GOOD + "".join(map(line, range(hour, hour + 30))),
        "wrong column.csv": f"tiem,site,item,value\n{line(hour)}",
        "wrong time.csv": f"{GOOD}31/12/2019 25:61,site 1,item 1,1\n{line(hour)}",
        "empty.csv": "",
        "header.csv": GOOD,
        "twice a.csv": GOOD + line(hour, item="twice") * 3,
        "twice b.csv": GOOD + line(hour, item="twice") * 3,
        "late.csv": GOOD + line(5) + line(hour),
        "future.csv": f"{GOOD}4000-01-01T00:00:00Z,site 1,item 1,1\n{line(hour)}",
        "long.csv": GOOD + line(hour, item=LONG) * 300,
        "quoted.csv": GOOD + line(hour, item=QUOTED) * 200,
        "returns.csv": (GOOD + line(hour) * 2).replace("\n", "\r"),
        "unseen.csv": GOOD + line(hour, site=UNSEEN),
        "vanishing.csv": GOOD + line(hour, item="vanishing") * 5,
    }
    for name, content in contents.items():
        (data / name).write_bytes(content.encode())
    whole = gzip.compress((GOOD + "".join(map(line, range(hour, hour + 500)))).encode())
    (data / "truncated.csv.gz").write_bytes(whole[: len(whole) // 2])
    (data / "junk.csv").write_bytes(bytes(range(256)) * 40)


def vanishing(find: Any) -> Any:
    """A look at the files after which one is gone: it was found, and is not there when it is read."""

    def then_gone(pattern: str, home: Path) -> Any:
        found = find(pattern, home)
        (home / "data" / "vanishing.csv").unlink(missing_ok=True)
        return found

    return then_gone


def kept(home: Deployment) -> dict[str, list[dict[str, Any]]]:
    """The rows that exist: those of landings that are in the journal, and all findings and alerts."""
    lake = home.context().lake
    writes = [seal.write for seal in lake.ledger.journal("shop", home.context().config.source("shop").clock)]

    def rows(table: Table) -> list[dict[str, Any]]:
        return list(lake.of_writes(table, writes).to_pylist())

    return {
        **{table.name: rows(table) for table in (LANDINGS, EVENTS, QUARANTINE)},
        **{table.name: home.rows(table) for table in (VALIDATIONS, ALERTS, ANSWERS)},
    }


def test_of_every_file_as_many_rows_were_read_as_landed_and_were_set_aside(landed: Landed) -> None:
    for rows in (landed.bad, landed.mended):
        for landing in rows["landings"]:
            assert landing["read"] == landing["landed"] + landing["quarantined"]
        assert sum(landing["landed"] for landing in rows["landings"]) == len(rows["events"])
        assert sum(landing["quarantined"] for landing in rows["landings"]) == len(rows["quarantine"])
        assert most_often((row["digest"], row["line"]) for row in rows["events"] + rows["quarantine"]) == 1


def test_a_good_file_lands_beside_the_bad_ones_and_its_epoch_is_sealed(landed: Landed) -> None:
    assert landed.counts("good 1.csv") == (30, 30, 0, 0)
    assert len(landed.home.digests()) == 3


def test_a_wrong_column_is_named_with_the_columns_there_are(landed: Landed) -> None:
    reason = landed.refusal("wrong column.csv")
    assert "'time'" in reason
    assert "tiem" in reason


def test_a_wrong_time_format_sets_the_row_aside_with_its_text(landed: Landed) -> None:
    assert landed.counts("wrong time.csv") == (2, 1, 1, 0)
    [reason] = landed.reasons("wrong time.csv")
    assert "31/12/2019 25:61" in reason
    [row] = [row for row in landed.bad["quarantine"] if row["path"].endswith("/wrong time.csv")]
    assert row["raw"] == "31/12/2019 25:61,site 1,item 1,1"
    assert row["line"] == 1


@pytest.mark.parametrize("name", ["empty.csv", "header.csv"])
def test_an_empty_file_is_a_landing_of_no_rows(landed: Landed, name: str) -> None:
    assert landed.counts(name) == (0, 0, 0, 0)
    landing = landed.landing(name)
    assert landing is not None
    assert landing["note"] == "no rows"


def test_a_truncated_archive_is_left_whole_where_it_is(landed: Landed) -> None:
    assert "is truncated; send the whole file again" in landed.refusal("truncated.csv.gz")


def test_binary_junk_is_left_where_it_is(landed: Landed) -> None:
    reason = landed.refusal("junk.csv")
    assert "is not text: its first line holds control characters" in reason
    assert "correct the source's path or format" in reason


def test_lines_that_end_with_carriage_returns_alone_are_no_file_without_rows(landed: Landed) -> None:
    assert "its lines end with carriage returns alone; end them with newlines" in landed.refusal("returns.csv")


def test_the_same_file_under_two_names_lands_once(landed: Landed) -> None:
    assert landed.counts("twice a.csv") == (3, 3, 0, 0)
    assert landed.counts("twice b.csv") == (0, 0, 0, 0)
    second = landed.landing("twice b.csv")
    assert second is not None
    assert second["note"].startswith("same content as /")
    assert second["note"].endswith("/twice a.csv")
    assert sum(row["item"] == "twice" for row in landed.bad["events"]) == 3


def test_a_row_of_a_sealed_epoch_lands_as_late_and_changes_nothing_that_is_sealed(landed: Landed) -> None:
    assert landed.counts("late.csv") == (2, 2, 0, 1)
    digests, published = landed.first_seals
    assert digests.items() <= landed.home.digests().items()
    assert published
    assert "stale from epoch 2020-01-01 on: 1 row landed after the seal" in landed.home.command("status").stdout


def test_a_row_from_the_future_is_set_aside(landed: Landed) -> None:
    assert landed.counts("future.csv") == (2, 1, 1, 0)
    assert landed.reasons("future.csv") == ["in the future by more than the skew of 1h"]
    [row] = [row for row in landed.bad["quarantine"] if row["path"].endswith("/future.csv")]
    assert (row["line"], row["time"].year, row["site"]) == (1, 4000, "site 1")
    assert '"item": "item 1", "value": 1' in row["raw"]


@pytest.mark.parametrize(("name", "item", "count"), [("long.csv", LONG, 300), ("quoted.csv", QUOTED, 200)])
def test_an_item_is_data_however_long_and_whatever_is_in_it(landed: Landed, name: str, item: str, count: int) -> None:
    """10 kB, or quotes and newlines: it lands as it is and stands in the answer with its exact count."""
    assert landed.counts(name) == (count, count, 0, 0)
    assert {row["item"] for row in landed.events(name)} == {item}
    [answer] = [row for row in landed.bad["answers"] if row["key"] == item]
    assert (answer["low"], answer["high"]) == (count, count)


def test_a_site_never_seen_joins_with_its_first_rows(landed: Landed) -> None:
    assert landed.counts("unseen.csv") == (1, 1, 0, 0)
    seals = landed.home.context().lake.ledger.seals("shop", "busiest")
    assert UNSEEN in seals[1].joined_sites
    assert not seals[1].missing_sites


def test_a_file_that_vanishes_while_it_is_read_is_told_and_lands_when_it_is_back(landed: Landed) -> None:
    assert "is gone; it will be landed if it comes back" in landed.refusal("vanishing.csv", there=False)
    assert not [row for row in landed.bad["events"] if row["item"] == "vanishing"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_file_lands_once_it_is_put_right(landed: Landed, name: str) -> None:
    [landing] = [row for row in landed.mended["landings"] if row["path"].endswith(f"/{name}")]
    assert (landing["read"], landing["landed"]) == (1, 1)
    [event] = [row for row in landed.mended["events"] if row["item"] == name]
    assert to_microseconds(event["time"]) == (ORIGIN + 2 * HOUR) * 1_000_000


def test_a_bad_file_alone_is_an_error_the_first_time_and_holds_up_no_epoch_twice_and_no_replay(
    deploy: Callable[..., Deployment],
) -> None:
    home = deploy(monitors=(BUSIEST,), settings=ONE_PARTITION)
    home.add_file("good.csv", shopping(41, 1)[0])
    given = home.handover(0, 1)
    land(home.context(), given)
    path = home.home / "data" / "alone.csv"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(DataError, match=r"no file of shop could be landed; .*alone\.csv: "):
        land(home.context(), given)
    assert path.exists()
    land(home.context(), given)
    assert given.landing == 1
    (home.home / "data" / "another.csv").write_bytes(bytes(range(255)))
    replay = home.handover(0, 1, revise="rows admitted")
    land(home.context(), replay)
    assert replay.landing == 1


def most_often(keys: Iterable[Any]) -> int:
    """How often the most frequent one occurs."""
    found = list(keys)
    return max(map(found.count, set(found)))
