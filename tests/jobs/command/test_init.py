"""`farwatch init`: what it guesses of files of many kinds, what it asks, what it writes, and that the result runs."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.command.starting import init
from jobs.command.starting.guesses import guess
from jobs.command.starting.sample import sample_of
from monitoring_lib.config import load
from monitoring_lib.errors import DataError, ExitCode, UsageError

HOURS = [f"{hour:02}" for hour in range(20)]
Made = Callable[[str, str], Path]


@pytest.fixture
def made(home: Path) -> Made:
    def write(name: str, text: str) -> Path:
        path = home / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


def roles(path: Path) -> dict[str, str]:
    return {role: one.column for role, one in guess(sample_of(path)).columns.items()}


CASES = {
    "requests.csv": (
        "time,host,path,bytes\n" + "".join(f"2026-01-01T{h}:00:00Z,web{int(h) % 3},/a/{h},{h}7\n" for h in HOURS),
        {"time": "time", "site": "host", "item": "path", "value": "bytes"},
    ),
    "sales.csv": (
        "Datum;Shop;SKU;Amount\n" + "".join(f"{int(h) + 1}.03.2026 10:00;Berlin;s{h};1.50\n" for h in HOURS),
        {"time": "Datum", "site": "Shop", "item": "SKU", "value": "Amount"},
    ),
    "sensors.tsv.gz": (
        "ts\tsensor\treading\n" + "".join(f"{1_700_000_000 + 60 * int(h)}\tm{int(h) % 4}\t-{h}.25\n" for h in HOURS),
        {"time": "ts", "site": "sensor", "value": "reading"},
    ),
    "no-header.csv": (
        "".join(f"2026-01-01 {h}:00:00,alpha,word{h}\n" for h in HOURS),
        {"time": "column1", "site": "'all'", "item": "column3"},
    ),
    "millis.jsonl": (
        "".join(f'{{"@timestamp": {1_700_000_000_000 + int(h)}, "region": "eu", "url": "/{h}"}}\n' for h in HOURS),
        {"time": "@timestamp", "site": "region", "item": "url"},
    ),
    "odd names.csv": (
        '"when (UTC)","it\'s the site","item, one"\n'
        + "".join(f"2026-01-01T{h}:00Z,s{int(h) % 2},i{h}\n" for h in HOURS),
        {"time": "when (UTC)", "site": "it's the site", "item": "item, one"},
    ),
    "wide.csv": (
        "date,vm," + ",".join(f"c{n}" for n in range(24)) + "\n"
        + "".join(f"202601{n:02},vm{n % 3}," + ",".join("5" * 1 for _ in range(24)) + "\n" for n in range(1, 20)),
        {"time": "date", "site": "vm"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_columns_are_guessed_right_and_the_result_is_sound(name: str, home: Path, made: Made) -> None:
    text, expected = CASES[name]
    path = made(name, text)
    assert roles(path) == expected
    assert init.run([path], name="mine", yes=True) == ExitCode.DONE
    config = load(home / "conf", "local")
    assert set(config.sources) == {"mine"}
    assert 1 <= len(config.monitors) <= 4


def test_a_wide_row_of_a_day_has_a_tick_for_each_reading(home: Path, made: Made) -> None:
    init.run([made("wide.csv", CASES["wide.csv"][0])], name="wide", yes=True)
    source = load(home / "conf", "local").sources["wide"]
    assert (source.epoch, source.tick) == (86_400_000_000, 3_600_000_000)
    assert source.unpivot is not None
    assert len(source.unpivot.columns) == 24


def test_parquet_and_delta_are_looked_at_too(home: Path) -> None:
    times = pa.array([1_700_000_000_000_000 + n * 60_000_000 for n in range(50)], pa.timestamp("us", "UTC"))
    rows = pa.table({"time": times, "site": ["a", "b"] * 25, "item": [f"i{n}" for n in range(50)]})
    pq.write_table(rows, home / "events.parquet")
    assert init.run([home / "events.parquet"], yes=True) == ExitCode.DONE
    from deltalake import write_deltalake

    write_deltalake(str(home / "table"), rows)
    assert init.run([home / "table"], yes=True) == ExitCode.DONE
    config = load(home / "conf", "local")
    assert {name: source.format for name, source in config.sources.items()} == {"events": "parquet", "table": "delta"}


def test_what_is_unsure_is_said_and_asked_about(
    home: Path, made: Made, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "time,site,a,b\n" + "".join(f"0{n}/0{n + 1}/2026 10:00,s,1.5,2.5\n" for n in range(1, 8))
    path = made("unsure.csv", text)
    init.run([path], name="first", yes=True)
    said = capsys.readouterr().out
    assert "it could also be b" in said
    assert "times are read as %d/%m/%Y %H:%M; they could also be %m/%d/%Y %H:%M" in said
    answers = iter([2, 9, 2])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    init.run([path], name="second")
    source = load(home / "conf", "local").sources["second"]
    assert (source.columns["value"], source.time_format) == ("b", "%m/%d/%Y %H:%M")


def test_several_files_become_the_pattern_that_fits_just_them(home: Path, made: Made) -> None:
    text = CASES["requests.csv"][0]
    paths = [made(f"day-{n}.csv", text) for n in (1, 2)]
    assert init.pattern_of(paths, home) == "day-*.csv"
    made("day-3.csv", text)
    with pytest.raises(UsageError, match="no pattern matches just these files"):
        init.pattern_of(paths, home)


def test_nothing_is_written_over_unless_it_is_forced(home: Path, made: Made) -> None:
    path = made("requests.csv", CASES["requests.csv"][0])
    init.run([path], yes=True)
    kept = home / "conf" / "base" / "sources" / "requests.yml"
    kept.write_text(kept.read_text() + "# mine\n")
    with pytest.raises(UsageError, match=r"requests\.yml.*is there already; give another --name, or --force"):
        init.run([path], yes=True)
    assert kept.read_text().endswith("# mine\n")
    init.run([path], yes=True, force=True)
    assert not kept.read_text().endswith("# mine\n")


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("nothing.csv", "", "holds no rows"),
        ("twice.csv", "a,a\n1,2\n", "names a column twice"),
        ("list.json", "[1, 2]\n", "is no JSON object"),
        ("torn.json", '{"a": 1\n', "is not JSON, one record a line"),
        ("what.docx", "x", "its name does not say what it is"),
        ("latin.csv", None, "is not UTF-8"),
    ],
)
def test_files_that_no_source_can_have_are_refused_by_name(
    name: str, text: str | None, error: str, home: Path, made: Made
) -> None:
    path = made(name, text or "")
    if text is None:
        path.write_bytes("time,site\n2026-01-01,Zürich\n".encode("latin-1"))
    with pytest.raises((DataError, UsageError), match=error) as caught:
        init.run([path], yes=True)
    assert str(path) in str(caught.value)
    assert not (home / "conf").exists()


def test_a_file_without_times_is_refused_with_what_to_do(home: Path, made: Made) -> None:
    with pytest.raises(UsageError, match="no column holds times"):
        init.run([made("names.csv", "site,item\na,b1\nc,d2\n")], yes=True)
