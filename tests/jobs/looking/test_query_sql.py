"""`farwatch query --sql`: any SELECT over what is sealed, and nothing beyond it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from jobs.looking.sql import asked
from jobs.looking.sql_report import MOST_ROWS
from monitoring_lib.errors import DamagedTable, StorageError, UsageError
from monitoring_lib.tables import ANSWERS, TABLES
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought

QUIET = BUSIEST | {"name": "quiet", "k": 1}
VIEWS = (
    "alerts", "answers", "arrivals", "cursors", "epochs", "events", "landings", "messages", "outbox", "plans",
    "quarantine", "rosters", "site_states", "states", "synopses", "validations", "verdicts",
)  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> SealedHome:
    """Two monitors over two sealed hours; the second hour was revised, and both left writes that no seal names."""
    shop = SealedHome(tmp_path_factory.mktemp("shop"), monitors=[BUSIEST | {"shadow": ["margins"]}, QUIET])
    shop.land([*bought(0, north="aaaaabbb", south="aaaa"), *bought(1, north="cccccccc")])
    shop.run(0, 2)
    shop.land(bought(1, south="d" * 30))
    shop.run(1, 2, revise="late rows")
    shop.run(2, 3, seal=["quiet"])  # busiest failed in a run that sealed quiet
    shop.run(1, 2, revise="an orphan", seal=())
    return shop


def rows(home: SealedHome, sql: str) -> list[tuple[Any, ...]]:
    with asked(home.context().lake, sql) as (_, found):
        return list(found)


def test_answers_are_those_of_the_seals_with_every_revision(kept: SealedHome) -> None:
    found = rows(
        kept,
        "SELECT hour(epoch_start), revision, current, string_agg(key, '' ORDER BY rank) FROM answers"
        " WHERE monitor = 'busiest' GROUP BY ALL ORDER BY ALL",
    )
    assert found == [(0, 0, True, "ab"), (1, 0, False, "ac"), (1, 1, True, "da")]


def test_current_answers_equal_the_published_table(kept: SealedHome) -> None:
    columns = ", ".join(ANSWERS.columns)
    published = kept.context().lake.centre.read(ANSWERS)
    assert sorted(rows(kept, f"SELECT {columns} FROM answers"), key=repr) == sorted(
        (tuple(row.values()) for row in published.to_pylist()), key=repr
    )


@pytest.mark.parametrize("table", ["answers", "messages", "states", "site_states"])
def test_rows_of_a_monitor_that_failed_are_not_seen_though_their_write_is_named(kept: SealedHome, table: str) -> None:
    """Both monitors wrote the third hour under the same writes; one of them was sealed."""
    found = rows(kept, f"SELECT DISTINCT monitor FROM {table} WHERE hour(epoch_start) = 2")
    assert found == ([("quiet",)] if table == "answers" else found)
    assert ("busiest",) not in found
    raw = {"answers": "drafts"}.get(table, table)
    stored = kept.context().lake.store_of(TABLES[raw]).read(TABLES[raw], columns=["write"]).num_rows
    assert rows(kept, f"SELECT count(*) FROM {table}")[0][0] < stored


def test_shared_rows_are_seen_once_and_current_if_any_last_seal_names_them(kept: SealedHome) -> None:
    found = rows(kept, "SELECT hour(epoch_start), site, events, current FROM synopses ORDER BY ALL")
    assert found == [
        (0, "north", 8, True),
        (0, "south", 4, True),
        (1, "north", 8, False),
        (1, "north", 8, True),
        (1, "south", 30, True),
    ]


def test_events_and_landings_are_those_of_sealed_landings(kept: SealedHome) -> None:
    context = kept.context()
    orphan = [row | {"write": "land-orphan"} for row in context.lake.sites.read(TABLES["events"]).to_pylist()]
    context.lake.append(TABLES["events"], orphan)
    assert rows(kept, "SELECT count(*) FROM events") == [(len(kept.events),)]
    assert rows(kept, "SELECT count(*), sum(landed) FROM landings") == [(2, len(kept.events))]


def test_validations_are_those_of_sealed_runs(tmp_path: Path) -> None:
    shop = SealedHome(tmp_path)
    shop.land([*bought(0, north="aaaaa", south="bbbbb"), *bought(1, north="a")])
    shop.run(0, 1)
    shop.run(1, 2, missing={"south": "silent for 3 epochs"}, seal=())
    assert rows(shop, "SELECT count(*) FROM validations WHERE step = 'gate'") == [(0,)]
    shop.run(1, 2, missing={"south": "silent for 3 epochs"})
    found = rows(shop, "SELECT step, monitor, site, detail FROM validations WHERE hour(epoch_start) = 1 ORDER BY step")
    assert found == [("gate", "", "south", "silent for 3 epochs"), ("validate", "busiest", "", "")]


def test_every_view_has_the_columns_of_its_delta_table(kept: SealedHome) -> None:
    names = [row[0] for row in rows(kept, "SHOW TABLES")]
    assert sorted(names) == sorted([*VIEWS, "messages_readable", "site_states_readable", "states_readable"])
    for view in VIEWS:
        found = [row[0] for row in rows(kept, f"DESCRIBE {view}")]
        assert set(TABLES[view].columns) <= set(found)
        assert set(found) - set(TABLES[view].columns) <= {"revision", "current"}
    assert "drafts" not in names
    assert "writes" not in names


def test_readable_views_decode_what_nodes_said_and_remember(kept: SealedHome) -> None:
    letters = rows(
        kept,
        "SELECT payload FROM messages_readable WHERE monitor = 'busiest' AND method = 'caching' AND sender = 'south'"
        " AND epoch_start = '2020-01-01T00:00Z'",
    )
    assert [json.loads(letter) for (letter,) in letters] == [{"names": ["a"], "values": [4]}]
    found = rows(kept, "SELECT payload->>'node', payload->'sums' FROM site_states_readable WHERE monitor = 'quiet'")
    assert ("south", '[["a",4]]') in found
    centres = rows(kept, "SELECT DISTINCT method FROM states_readable WHERE payload->>'unreadable' IS NULL ORDER BY 1")
    assert centres == [("caching",), ("margins",)]


def test_a_payload_that_cannot_be_decoded_says_why(tmp_path: Path) -> None:
    shop = SealedHome(tmp_path)
    shop.land(bought(0, north="a" * 9))
    shop.run(0, 1)
    context, messages = shop.context(), TABLES["messages"]
    [row] = context.lake.centre.read(messages).to_pylist()
    context.lake.append(messages, [row | {"payload": row["payload"][:-1] + b"\xff", "position": 1}])
    [(text,)] = rows(shop, "SELECT payload->>'unreadable' FROM messages_readable WHERE position = 1")
    assert "checksum mismatch" in text


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_blob('/etc/passwd')",
        "SELECT * FROM read_parquet('{home}/var/coordinator/drafts/*.parquet')",
        "SELECT * FROM '{home}/var/coordinator/drafts/x.parquet'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM delta_scan('{home}/var/coordinator/drafts')",
        "COPY (SELECT 1) TO '{home}/out.csv'",
        "COPY messages TO '{home}/out.parquet'",
        "EXPORT DATABASE '{home}/out'",
        "ATTACH '{home}/out.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "RESET python_enable_replacements",
        "PRAGMA enable_profiling",
        "CREATE TABLE mine AS SELECT 1",
        "CREATE VIEW mine AS SELECT 1",
        "DROP VIEW messages",
        "INSERT INTO epochs SELECT * FROM epochs",
        "DELETE FROM messages",
        "CALL pragma_version()",
        "SELECT 1; SELECT 2",
        "SELECT 1; COPY (SELECT 1) TO '{home}/out.csv'",
        "SELECT getenv('HOME')",
        "SELECT * FROM drafts",
        "SELECT * FROM kept",
        "SELECT * FROM found",
        "SELECT * FROM python_arrow_scan()",
        "SELECT * FROM sqlite_scan('{home}/x', 'y')",
        "SELECT * FROM 'https://example.com/x.csv'",
        "",
        "-- nothing",
    ],
)
def test_sql_reaches_no_file_no_setting_and_no_other_object(kept: SealedHome, sql: str) -> None:
    before = sorted(os.listdir(kept.home))
    with pytest.raises(UsageError, match="--sql"):
        rows(kept, sql.format(home=kept.home))
    assert sorted(os.listdir(kept.home)) == before


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("SELEC 1", 'syntax error at or near "SELEC"'),
        ("SELECT nothing FROM answers", 'Referenced column "nothing" not found'),
        ("SELECT * FROM answer", "Table with name answer does not exist! There are alerts, answers, arrivals"),
        ("SELECT CAST(key AS INTEGER) FROM answers", "Could not convert string"),
        ("DELETE FROM answers", "takes one SELECT (also DESCRIBE, SHOW TABLES, EXPLAIN); found DELETE"),
    ],
)
def test_wrong_sql_is_a_clear_sentence(kept: SealedHome, sql: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        rows(kept, sql)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "sql", ["FROM query_table('mess' || 'ages')", "SELECT count(*) FROM query('FROM mess' || 'ages')"]
)
def test_a_table_that_the_query_does_not_spell_out_is_refused_not_empty(kept: SealedHome, sql: str) -> None:
    with pytest.raises(UsageError, match="the table messages is not open: write its name out in the query"):
        rows(kept, sql)


def test_tables_that_nobody_has_written_to_are_empty(kept: SealedHome) -> None:
    for view in ("verdicts", "alerts", "quarantine"):
        assert rows(kept, f"SELECT count(*) FROM {view}") == [(0,)]


def test_storage_that_is_away_and_files_that_are_lost_are_errors_not_an_empty_table(tmp_path: Path) -> None:
    shop = SealedHome(tmp_path)
    shop.land(bought(0, north="a" * 9))
    shop.run(0, 1)
    shutil.rmtree(tmp_path / "var" / "sites")
    with pytest.raises(StorageError, match="the sites' tables are not there"):
        rows(shop, "SELECT count(*) FROM events")
    assert rows(shop, "SELECT key FROM answers") == [("a",)]
    for file in (tmp_path / "var/coordinator/messages").glob("*.parquet"):
        file.unlink()
    with pytest.raises(DamagedTable, match=r"the table `messages` is damaged .* `farwatch repair messages`"):
        rows(shop, "SELECT count(payload) FROM messages")


def test_a_result_is_printed_bounded_and_whole_as_json(kept: SealedHome) -> None:
    sql = f"SELECT range AS n, repeat('x', 200) AS long FROM range({MOST_ROWS + 1})"
    text = kept.command("query", "--sql", sql).stdout.splitlines()
    assert text[0].split() == ["n", "long"]
    assert len(text) == MOST_ROWS + 2
    assert text[-1] == f"… the first {MOST_ROWS:,} rows; add a LIMIT, or take up to --limit rows with --json"
    assert text[1].split() == ["0", "x" * 79 + "…"]
    found = json.loads(kept.command("query", "--sql", sql, "--json").stdout)
    assert found["columns"] == ["n", "long"]
    assert found["rows"][MOST_ROWS] == [MOST_ROWS, "x" * 200]


def test_a_query_ends_at_its_limits_of_rows_time_and_memory(kept: SealedHome) -> None:
    found = json.loads(kept.command("query", "--sql", "FROM range(10001)", "--json").stdout)
    assert (len(found["rows"]), found["more"]) == (10_000, True)
    found = json.loads(kept.command("query", "--sql", "FROM range(7)", "--json", "--limit", "7").stdout)
    assert (len(found["rows"]), found["more"]) == (7, False)
    endless = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range % 7 = b.range % 5"
    done = kept.command("query", "--sql", endless, "--seconds", "0.5")
    assert (done.returncode, "not done after 0.5 s" in done.stderr) == (2, True), done.stderr
    large = "SELECT list(range) FROM range(20000000)"
    done = kept.command("query", "--sql", large, "--memory", "20MiB")
    assert (done.returncode, "needs more memory than 20MiB" in done.stderr) == (2, True), done.stderr
    for wrong in (("--limit", "0"), ("--seconds", "0"), ("--memory", "much")):
        assert kept.command("query", "--sql", "SELECT 1", *wrong).returncode == 2


def test_every_type_of_a_result_becomes_json(kept: SealedHome) -> None:
    sql = (
        "SELECT timestamptz '2020-01-01T06:00Z' a, date '2020-01-01' b, sum(1::HUGEINT) c, MAP {'k': 1} d, [1, 2] e,"
        " '\\x00\\xFF'::BLOB f, interval 1 minute g, {'x': NULL} h, 1.50::DECIMAL(9, 2) i, 'inf'::DOUBLE j, 1 k, 2 k"
    )
    done = kept.command("query", "--sql", sql, "--json")
    assert json.loads(done.stdout)["rows"] == [
        ["2020-01-01T06:00Z", "2020-01-01", 1, {"k": 1}, [1, 2], "00ff", 60.0, {"x": None}, 1.5, None, 1, 2]
    ]
    assert done.stderr == ""
    assert '2020-01-01T06:00Z  2020-01-01  1  {"k": 1}' in kept.command("query", "--sql", sql).stdout
