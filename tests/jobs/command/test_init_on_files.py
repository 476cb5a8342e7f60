"""`farwatch init` on files as people have them, real and made up: what it guesses is what docs/init.md says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobs.command.starting import init
from jobs.command.starting.guesses import guess
from jobs.command.starting.sample import sample_of
from monitoring_lib.config import load
from monitoring_lib.errors import ExitCode
from tests.conftest import PROJECT

HOURS = range(20)
START = 1_700_000_000


ODD_FILES = {
    "shop.csv": "time,shop,product,cents\n"
    + "".join(f"2026-03-02T{h:02}:00:00Z,s{h % 3},p{h % 5},{h * 37 + 100}\n" for h in HOURS),
    "orders.csv": "Order Date,State,Product Name,Sales\n"
    + "".join(f'{h % 12 + 1}/{h + 1}/2026 {h % 12 + 1}:15 PM,Ohio,"Chair, {h}",{h}.99\n' for h in HOURS),
    "stations.txt": "logged_at|station_id|pm25\n"
    + "".join(f"2026-01-01 {h:02}:00|st{h % 4}|{h}.5\n" for h in HOURS),
    "offsets.csv": "event_time,country,page,duration_ms\n"
    + "".join(f"2026-01-01T{h:02}:00:00+02:00,de,/p{h},{h * 3}\n" for h in HOURS),
    "two-columns.csv": "date,time,server,url,bytes\n"
    + "".join(f"2026-01-01,{h:02}:00:00,web{h % 3},/u{h},{h * 10}\n" for h in HOURS),
    "apache.csv": "host,when,request\n"
    + "".join(f"h{h % 3},01/Feb/2026:{h:02}:00:00 +0100,GET /{h}\n" for h in HOURS),
    "commas.csv": "Zeit;Filiale;Artikel;Betrag\n"
    + "".join(f"{h + 1:02}.03.2026 10:00:00;B{h % 3};a{h};{h},50\n" for h in HOURS),
    "clicks.csv": "ts,device_id,user_id,session_id,clicks\n"
    + "".join(f"{START + h * 60},d{h % 4},{1000 + h},{90 + h},{h % 7}\n" for h in HOURS),
    "micros.jsonl": "".join(
        f'{{"eventTime": {START * 10**6 + h * 10**6}, "dc": "x", "endpoint": "/{h}", "latencyMs": {h}.5}}\n'
        for h in HOURS
    ),
    "gaps.csv": "time,sensor,temp\n"
    + "".join(f"2026-01-01 {h:02}:00:00,m{h % 3},{'NA' if h % 5 == 0 else f'{h}.5'}\n" for h in HOURS),
    "flows.log": "start end srcaddr dstaddr bytes\n"
    + "".join(f"{START + h} {START + 60 + h} 10.0.0.{h} 10.1.0.{h} {h * 100}\n" for h in HOURS),
}  # fmt: skip
"""Files as people have them: odd delimiters, headers, times and zones."""
COLUMNS = ("file", "time", "site", "item", "value", "asked about")


def tabled() -> dict[str, dict[str, str]]:
    """What docs/init.md says of each file."""
    page = (PROJECT / "docs" / "init.md").read_text("utf-8")
    rows = [
        line.strip("| ").split(" | ") for line in page.splitlines() if re.match(r"\| `\S+\.(csv|txt|json|log)", line)
    ]
    assert all(len(row) == len(COLUMNS) for row in rows)
    return {row[0].strip("`"): dict(zip(COLUMNS[1:], row[1:], strict=True)) for row in rows}


def as_tabled(path: Path) -> dict[str, str]:
    found = guess(sample_of(path))
    cells = {role: f"`{one.column}`" for role, one in found.columns.items()}
    if found.time is not None and found.time.format != "auto":
        cells["time"] += f" as `{found.time.format}`"
    if found.wide is not None:
        cells["value"] = f"`{found.wide[0]}` to `{found.wide[1]}`"
    asked = [role for role, one in found.columns.items() if not one.is_sure]
    asked += ["time format"] if found.time is not None and found.time.others else []
    return {name: cells.get(name, "-") for name in COLUMNS[1:5]} | {"asked about": ", ".join(asked) or "-"}


def test_the_page_has_every_file() -> None:
    assert ODD_FILES.keys() <= tabled().keys()
    assert len(tabled()) >= 20


@pytest.mark.parametrize("name", ODD_FILES)
def test_odd_files_are_guessed_as_the_page_says_and_the_result_is_sound(name: str, home: Path) -> None:
    path = home / name
    path.write_text(ODD_FILES[name], "utf-8")
    assert as_tabled(path) == tabled()[name]
    assert init.run([path], name="mine", yes=True) == ExitCode.DONE
    assert set(load(home / "conf", "local").sources) == {"mine"}


REAL = sorted(tabled().keys() - ODD_FILES.keys())


@pytest.mark.parametrize("file", REAL)
def test_real_files_are_guessed_as_the_page_says(traces: Path, file: str) -> None:
    assert as_tabled(traces / file) == tabled()[file]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("file", REAL)
def test_what_is_written_for_real_files_is_sound(traces: Path, home: Path, file: str) -> None:
    assert init.run([traces / file], name="mine", yes=True) == ExitCode.DONE


def test_numbers_with_a_decimal_comma_are_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "commas.csv").write_text(ODD_FILES["commas.csv"], "utf-8")
    init.run([home / "commas.csv"], name="mine", yes=True)
    assert "Betrag: numbers with a decimal comma, which no source reads; write points" in capsys.readouterr().out
