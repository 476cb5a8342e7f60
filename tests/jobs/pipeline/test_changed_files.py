"""Files that change after they have landed: nothing is counted twice, and every printed remedy leads to the truth."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from monitoring_lib.tables import ALERTS, ANSWERS, LANDINGS
from tests.jobs.pipeline.deployment import BUSIEST, ONE_PARTITION, SOURCE, Deployment
from tests.jobs.pipeline.remedies import follow, typed

pytestmark = pytest.mark.spark
EXACT = BUSIEST | {"k": 20, "tolerance": 0}
FILES = SOURCE | {"path": "data/*.csv*"}
HEAD = "time,site,item,value\n"


def lines(items: str, minute: int = 0) -> str:
    """A record for each letter."""
    return "".join(f"2020-01-01T00:{minute:02}:00Z,site 1,item {item},1\n" for item in items)


def hours(first: int, last: int) -> tuple[str, ...]:
    return "--source", "shop", "--from", f"2020-01-01T{first:02}:00Z", "--to", f"2020-01-01T{last:02}:00Z"


def truth(data: Path) -> Counter[str]:
    """How often each item stands in the files as they are now."""
    found: Counter[str] = Counter()
    for path in data.iterdir():
        text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
        found.update(row["item"] for row in csv.DictReader(text.splitlines()))
    return found


def answered(home: Deployment) -> Counter[str]:
    """The counts of the last epoch's answer, in its last revision; they are exact."""
    rows = home.rows(ANSWERS)
    last = max((row["epoch_start"], row["revision"]) for row in rows)
    found = [row for row in rows if (row["epoch_start"], row["revision"]) == last]
    assert all(row["low"] == row["high"] and not row["partial"] for row in found)
    return Counter({row["key"]: int(row["estimate"]) for row in found})


def mend(home: Deployment) -> None:
    """Follows what `status` prints until it calls nothing stale."""
    for _ in range(5):
        said = typed(home, "status")
        [source] = json.loads(typed(home, "status", "--json").text)["sources"]
        if not any(monitor["stale"] for monitor in source["monitors"]):
            return
        follow(home, said, [words[0] for words in said.remedies].index("run"))
    raise AssertionError(said.text)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, spark_remote: str) -> Deployment:
    """One file is copied in half, one is packed later, one is a log; the first hour is sealed."""
    home = Deployment(tmp_path_factory.mktemp("changed"), FILES, (EXACT,), ONE_PARTITION)
    data = home.home / "data"
    whole = HEAD + lines("aaaaaabbbbbb")
    (data / "copied.csv").write_text(whole[: len(HEAD + lines("aaaaaabb")) + 30])
    (data / "packed.csv").write_text(HEAD + lines("cccdd"))
    (data / "log.csv").write_text(HEAD + lines("eeef"))
    assert typed(home, "run", *hours(0, 1)).code == 0
    assert answered(home) == Counter({"item a": 6, "item b": 2, "item c": 3, "item d": 2, "item e": 3, "item f": 1})
    (data / "copied.csv").write_text(whole)
    (data / "packed.csv.gz").write_bytes(gzip.compress((data / "packed.csv").read_bytes()))
    (data / "packed.csv").unlink()
    (data / "log.csv").write_text(HEAD + lines("eeef") + lines("fff", 5) + "2020-01-01T00:06:0")
    return home


def test_changed_files_are_refused_by_name_and_the_printed_commands_lead_to_the_truth(home: Deployment) -> None:
    before = answered(home)
    said = typed(home, "run", *hours(1, 2))
    assert said.code == 0, said.text
    assert answered(home) == before
    alerts = {row["subject"].rsplit("/")[-1]: row for row in home.rows(ALERTS) if "is not landed" in row["subject"]}
    assert alerts.keys() == {"copied.csv is not landed", "log.csv is not landed"}
    [packed] = [row for row in home.rows(LANDINGS) if row["path"].endswith("packed.csv.gz")]
    assert (packed["how"], packed["read"]) == ("same", 0)
    assert "stale" not in typed(home, "status").text

    # The log has grown: only what is new lands, and its unfinished record waits.
    append = next(words for words in said.remedies if words[-1] == "append")
    assert typed(home, *append).code == 0
    [log] = [row for row in home.rows(LANDINGS) if row["how"] == "grown"]
    assert (log["path"].rsplit("/")[-1], log["landed"], log["records"]) == ("log.csv", 3, 7)

    # The copy is whole now: it stands in the place of its beginning.
    replace = next(words for words in said.remedies if words[-1] == "replace")
    landed = typed(home, *replace)
    assert landed.code == 0, landed.text
    assert "12 rows landed in the place of 8" in landed.line
    status = typed(home, "status")
    assert "stale from epoch 2020-01-01 on" in status.text
    assert landed.remedies[0] in status.remedies  # run and status offer the same
    mend(home)
    exact = truth(home.home / "data")
    exact.pop(None)  # type: ignore[call-overload]  # the record that is not finished
    assert answered(home) == exact
    sql = typed(home, "query", "--sql", "SELECT count(*) AS events FROM events", "--json")
    assert '"events": 24' in sql.text or "[24]" in sql.text.replace(" ", "")
    assert typed(home, "audit", "shop").code == 0


def test_a_rotated_log_brings_its_last_lines_and_the_new_one_its_first(home: Deployment) -> None:
    """In mode append, as the source itself says it."""
    data = home.home / "data"
    grows = Deployment(home.home, FILES | {"changed_files": "append"}, (EXACT,), ONE_PARTITION)
    old = HEAD + lines("eeef") + lines("fff", 5) + lines("g", 6)
    (data / "log.csv.1.gz").write_bytes(gzip.compress(old.encode()))
    (data / "log.csv").write_text(HEAD + lines("hh", 7))
    assert typed(grows, "run", *hours(2, 3)).code == 0
    mend(grows)
    assert answered(grows) == truth(data)


def test_a_file_that_has_not_settled_waits(home: Deployment) -> None:
    patient = Deployment(home.home, FILES | {"settle": "1h"}, (EXACT,), ONE_PARTITION)
    before = answered(patient)
    (home.home / "data" / "fresh.csv").write_text(HEAD + lines("z"))
    said = typed(patient, "land", *hours(2, 3))
    assert said.code == 0
    assert "1 new files wait until they have been still for 1h" in said.line
    assert not [row for row in home.rows(LANDINGS) if row["path"].endswith("fresh.csv")]
    assert answered(patient) == before
