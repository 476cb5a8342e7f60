"""`farwatch simulate`: a trace through a monitor's methods in one process, and what is told about it."""

from __future__ import annotations

import gzip
import json
import lzma
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from jobs.simulation import command as simulate
from jobs.simulation import counting
from jobs.simulation import simulate as simulation
from jobs.simulation.generate import generate
from jobs.simulation.simulate import Result
from monitoring_lib.answers import Answers
from monitoring_lib.errors import ConfigError, DataError, ExitCode, FarwatchError, PromiseBroken, UsageError
from monitoring_lib.hashing import hash_integers
from monitoring_lib.methods import Moment
from monitoring_lib.protocols import find_method
from monitoring_lib.protocols.topk.caching import Caching
from monitoring_lib.protocols.topk.caching.coordinator import CachingCoordinator
from monitoring_lib.tables import ANSWERS, MESSAGES, VERDICTS

ROWS = [
    ("2024-05-01T00:00:05Z", "paris", "apple", 3),
    ("2024-05-01T00:00:07Z", "paris", "pear", 1),
    ("2024-05-01T00:00:31Z", "oslo", "apple", 2),
    ("2024-05-01T00:00:12Z", "oslo", "fig", 9),
    ("2024-05-01T00:00:32Z", "oslo", "apple", 1),
]


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration but what a test writes, and relative paths in its own folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FARWATCH_CONF", str(tmp_path / "conf"))


def monitor(text: str = "", name: str = "fruit") -> Path:
    path = Path(f"{name}.yml")
    path.write_text(f"question: top-k\nk: 2\nmethod: caching\n{text}", "utf-8")
    return path


def trace(rows: Iterable[Sequence[object]] = ROWS, header: str = "time,site,item,value", name: str = "t.csv") -> str:
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n", "utf-8")
    return name


def run(monitor_text: str = "", **given: Any) -> Result:
    given = {"trace": None, "epoch": "10s"} | given
    given["trace"] = given["trace"] or trace()
    return simulate.run(monitor(monitor_text), **given)


def final(result: Result, method: str = "caching") -> dict[str, float]:
    outcome = next(outcome for outcome in result.outcomes if outcome.method == method)
    return {row.key: row.estimate for row in outcome.answers}


def content(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {
        table.name: pq.read_table(folder / f"{table.name}.parquet").to_pylist()
        for table in (ANSWERS, MESSAGES, VERDICTS)
    }


def test_counts_are_summed_over_sites_and_the_epochs_run_from_the_first_to_the_last_event(tmp_path: Path):
    result = run(out=tmp_path / "out")
    assert final(result) == {"apple": 3.0, "fig": 1.0}
    assert (result.epochs, result.sites) == (4, 2)
    assert result.promise == "valid within 0 (always)"
    assert result.promise_kept
    answers = content(tmp_path / "out")["answers"]
    assert sorted({row["epoch_start"].isoformat() for row in answers}) == [
        f"2024-05-01T00:00:{second}0+00:00" for second in range(4)
    ]
    first = [(row["key"], row["estimate"]) for row in answers if row["epoch_start"].second == 0]
    assert first == [("apple", 1.0), ("pear", 1.0)]


def test_the_tables_have_the_declared_columns_and_say_what_was_counted(tmp_path: Path):
    result = run("shadow: [margins]\n", out=tmp_path / "out")
    for table in (ANSWERS, MESSAGES, VERDICTS):
        assert pq.read_schema(tmp_path / "out" / f"{table.name}.parquet").equals(table.schema)
    rows = content(tmp_path / "out")
    assert {row["write"] for name in rows for row in rows[name]} == {"simulated"}
    assert {row["monitor"] for name in rows for row in rows[name]} == {"fruit"}
    for outcome in result.outcomes:
        own = {name: [row for row in rows[name] if row["method"] == outcome.method] for name in rows}
        assert len(own["messages"]) == outcome.cost.messages
        assert sum(row["entries"] for row in own["messages"]) == outcome.cost.entries
        assert sum(len(row["payload"]) for row in own["messages"]) == outcome.cost.bytes
        assert len(own["verdicts"]) == outcome.verdicts
        assert all(row["kept"] for row in own["verdicts"])
    assert not list((tmp_path / "out").glob("*.part"))


def test_the_cost_of_shipping_every_count_is_told_beside_the_methods():
    result = run()
    assert result.shipping.entries == 4  # apple and pear, fig, apple: one for each site, epoch and item
    assert result.shipping.messages == 3
    assert result.baseline is not None
    assert result.baseline.cost.entries == 4


def test_a_sum_counts_values_and_a_scale_makes_decimals_whole():
    rows = [
        ("2024-05-01", "a", "x", "0.25"),
        ("2024-05-01", "a", "x", "0.5"),
        ("2024-05-01", "b", "y", "0.7"),
    ]
    result = run("measure: sum(value)\n", trace=trace(rows), scale=100)
    assert final(result) == {"x": 0.75, "y": 0.7}


def test_a_scale_is_nothing_to_a_monitor_that_reads_no_value():
    assert final(run(scale=100)) == final(run())


def test_a_window_forgets_and_a_reset_starts_anew():
    assert final(run("window: 20s\n")) == {"apple": 2.0}
    assert final(run("reset: 30s\n")) == {"apple": 2.0}
    assert final(run("window: 30s\n")) == {"apple": 2.0, "fig": 1.0}


def test_csv_json_and_parquet_packed_or_not_are_the_same_trace(tmp_path: Path):
    text = Path(trace()).read_bytes()
    Path("t.csv.gz").write_bytes(gzip.compress(text))
    Path("t.csv.xz").write_bytes(lzma.compress(text))
    with pa.CompressedOutputStream("t.csv.zst", "zstd") as packed:
        packed.write(text)
    names = ("time", "site", "item", "value")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in ROWS]
    Path("t.jsonl").write_text("\n".join(lines) + "\n")
    columns = dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True))
    pq.write_table(pa.table(columns), "t.parquet")
    expected = None
    for name in ("t.csv", "t.csv.gz", "t.csv.xz", "t.csv.zst", "t.jsonl", "t.parquet"):
        run("measure: sum(value)\n", trace=name, out=tmp_path / name[2:])
        found = content(tmp_path / name[2:])
        assert found == (expected := expected or found), name


def test_epoch_seconds_need_no_option_and_other_times_a_format():
    assert run(trace=trace([(1714521605, "a", "x", 1), (1714521635, "a", "x", 1)])).epochs == 4
    rows = [("01.05.2024 00:00:05", "a", "x", 1), ("01.05.2024 00:00:35", "a", "x", 1)]
    assert run(trace=trace(rows), time_format="%d.%m.%Y %H:%M:%S").epochs == 4


def test_columns_are_mapped_by_name_or_expression():
    header = "at,host,url,bytes"
    result = run(trace=trace(header=header), columns="time=at,site=host,item=concat(url, '/', host)")
    assert final(result) == {"apple/oslo": 2.0, "apple/paris": 1.0}
    assert final(run("item: url\n", trace=trace(header=header), columns="time=at, site=host")) == {
        "apple": 3.0,
        "fig": 1.0,
    }


def test_a_monitors_item_may_be_an_expression_of_the_traces_columns():
    assert final(run("item: concat(site, ':', item)\n")) == {"oslo:apple": 2.0, "oslo:fig": 1.0}


def test_rows_without_a_site_are_dealt_by_a_hash_of_their_number(tmp_path: Path):
    rows = [(f"2024-05-01T00:00:{at % 60:02d}Z", f"i{at % 7}") for at in range(200)]
    result = run(trace=trace(rows, "time,item"), split_sites=12, out=tmp_path / "out")
    assert result.sites == 12
    expected = Counter(f"site-{site:02d}" for site in (hash_integers(np.arange(200)) % 12).tolist())
    senders = {row["sender"] for row in content(tmp_path / "out")["messages"]}
    assert senders == set(expected)
    again = run(trace=trace(rows, "time,item"), split_sites=12)
    assert [outcome.cost for outcome in again.outcomes] == [outcome.cost for outcome in result.outcomes]
    assert sum(row["entries"] for row in content(tmp_path / "out")["messages"]) > 0


def test_faulty_rows_are_counted_and_shown_not_dropped_in_silence():
    rows = [*ROWS, ("yesterday", "oslo", "apple", 1), ("2024-05-01T00:00:01Z", "", "apple", 1)]
    result = run(trace=trace(rows))
    assert result.account.read == 7
    assert result.account.counted == 5
    assert result.account.left_out == {"faulty": 2}
    assert any("row 6" in example and "yesterday" in example for example in result.account.examples)
    assert final(result) == {"apple": 3.0, "fig": 1.0}


def test_rows_before_the_origin_are_counted_as_such():
    rows = [*ROWS, ("never", "oslo", "apple", 1)]
    result = run(trace=trace(rows), origin="2024-05-01T00:00:10Z")
    assert result.account.left_out == {"before the origin": 2, "faulty": 1}
    assert result.account.counted == 3
    assert final(result) == {"apple": 2.0, "fig": 1.0}
    assert result.epochs == 3


def test_an_origin_before_the_first_event_gives_empty_epochs_first():
    result = run(origin="2024-04-30T23:59:40Z")
    assert result.epochs == 6
    assert result.promise_kept


def test_without_an_origin_the_first_epoch_starts_on_a_border_of_its_length():
    assert run().clock.origin % 10_000_000 == 0
    assert run(epoch="7s").clock.origin % 7_000_000 == 0


def test_a_trace_without_rows_is_an_answer_too(tmp_path: Path):
    faulty = run(trace=trace([("never", "oslo", "apple", 1)]))
    assert (faulty.epochs, faulty.account.left_out) == (0, {"faulty": 1})
    result = run(trace=trace([]), out=tmp_path / "out")
    assert (result.epochs, result.sites, result.account.read) == (0, 0, 0)
    assert content(tmp_path / "out") == {"answers": [], "messages": [], "verdicts": []}


def test_all_methods_run_side_by_side_with_the_monitors_own_first():
    result = run(methods="all")
    names = [outcome.method for outcome in result.outcomes]
    assert names[0] == "caching"
    assert "margins" in names
    assert [outcome.method for outcome in run(methods="margins,caching").outcomes] == ["margins", "caching"]


def test_a_method_that_only_the_command_names_has_its_options_too():
    bare = "options: {margins: {untracked: 0, granted: 0}}\n"
    caching, margins = run(bare, methods="caching,margins").outcomes
    assert margins.cost.entries == caching.cost.entries  # without its options it is caching


def source_file(text: str) -> None:
    Path("conf/base/sources").mkdir(parents=True)
    Path("conf/base/sources/market.yml").write_text(text, "utf-8")


MARKET = """
format: csv
path: t.csv
columns: {time: at, site: host, item: url, value: bytes}
epoch: 10s
origin: 2024-05-01
sites: [rome]
"""


def test_a_source_of_the_configuration_says_what_the_command_does_not():
    source_file(MARKET)
    trace(header="at,host,url,bytes")
    result = simulate.run(monitor("source: market\n"))
    assert final(result) == {"apple": 3.0, "fig": 1.0}
    assert (result.sites, result.epochs) == (3, 4)
    longer = simulate.run(monitor("source: market\n"), epoch="1m")
    assert longer.epochs == 1
    dealt = simulate.run(monitor("source: market\n"), split_sites=4)
    assert dealt.sites == 4


def test_a_source_that_the_configuration_lacks_does_not_stand_in_the_way():
    source_file(MARKET)
    assert final(run("source: other\n")) == {"apple": 3.0, "fig": 1.0}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"epoch": None}, UsageError, "--epoch 10s"),
        ({"epoch": "10"}, UsageError, "--epoch: '10' is not a duration"),
        ({"origin": "noon"}, UsageError, "--origin"),
        ({"trace": "absent.csv"}, UsageError, "absent.csv: there is no such file"),
        ({"trace": "notes.txt"}, UsageError, "does not say what it holds"),
        ({"methods": "cashing"}, UsageError, "did you mean 'caching'"),
        ({"methods": " , "}, UsageError, "name at least one"),
        ({"split_sites": 0}, UsageError, "at least 1 site"),
        ({"split_sites": 2, "columns": "site=site"}, UsageError, "give one of the two"),
        ({"columns": "time:at"}, UsageError, "is no pair"),
        ({"columns": "time=a,time=b"}, UsageError, "named twice"),
        ({"columns": "site=host"}, DataError, "no column 'host'.* with --columns .* with --split-sites N"),
        ({"monitor_text": "window: 15s\n"}, ConfigError, "whole number of epochs"),
        ({"monitor_text": "windwo: 20s\n"}, ConfigError, "did you mean 'window'"),
    ],
)
def test_what_cannot_be_is_said_with_its_remedy(given: dict[str, Any], error: type[FarwatchError], message: str):
    Path("notes.txt").write_text("time,site,item\n")
    with pytest.raises(error, match=message):
        run(**given)


def test_a_trace_over_too_many_epochs_is_refused_before_it_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(counting, "MOST_EPOCHS", 1_000)
    with pytest.raises(UsageError, match="choose longer epochs"):
        run(trace=trace([*ROWS, ("1994-05-01", "a", "x", 1)]))


def test_a_trace_larger_than_what_may_wait_is_summed_in_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    rows = [(f"2024-05-01T00:{at % 50:02d}:00Z", f"s{at % 3}", f"i{at % 11}", 1) for at in range(3_000)]
    run("measure: sum(value)\n", trace=trace(rows), epoch="1m", out=tmp_path / "whole")
    monkeypatch.setattr(counting, "MOST_PENDING", 100)
    run("measure: sum(value)\n", trace=trace(rows), epoch="1m", out=tmp_path / "parts")
    assert content(tmp_path / "whole") == content(tmp_path / "parts")


class Liar(Caching):
    """Publishes totals that are one too large."""

    def __init__(self, ask: Any) -> None:
        super().__init__(ask)
        self.inner = LyingCoordinator(ask)


class LyingCoordinator(CachingCoordinator):
    def answers(self, state: Any, moment: Moment) -> Answers:
        return Answers.of(
            replace(row, estimate=row.estimate + 1, low=row.low + 1, high=row.high + 1)
            for row in super().answers(state, moment)
        )


def test_a_broken_promise_ends_with_exit_code_1_and_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.setattr(
        simulation,
        "find_method",
        lambda question, name: Liar if name == "caching" else find_method(question, name),
    )
    result = run()
    assert not result.promise_kept
    assert result.outcomes[0].broken == result.outcomes[0].certain_broken > 0
    with pytest.raises(PromiseBroken, match="caching broke the promise 'valid within 0") as broken:
        simulate.command(monitor(), trace=trace(), epoch="10s")
    assert broken.value.exit_code == ExitCode.FAILED
    assert "verdicts broken, first in epoch 2024-05-01: total within bounds of apple" in capsys.readouterr().out


def test_a_replay_that_fails_leaves_no_half_written_table(tmp_path: Path):
    rows = [*ROWS, ("2024-05-01T00:01:00Z", "oslo", "apple", -50)]
    with pytest.raises(DataError, match="signed"):
        run("measure: sum(value)\n", trace=trace(rows), out=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_generated_folder_is_replayed_whole_with_repeats_and_faults_left_out(tmp_path: Path):
    made = generate(
        "cdn", tmp_path / "cdn", sites=8, hours=3, events_per_hour=3_000, items=300, corrupt=25,
        odd_names=True, duplicates=2, outages=2, late=0.05,
    )  # fmt: skip
    result = run("shadow: [margins]\nmeasure: sum(value)\n", trace="cdn", epoch="1h")
    assert result.account.read == made.rows
    assert result.account.left_out == {"faulty": 25}
    assert set(map(Path, result.trace.repeats)) == {
        tmp_path / "cdn" / file.path for file in made.files if file.repeats is not None
    }
    assert (result.epochs, result.sites) == (3, 8)
    assert result.promise_kept
    assert all(outcome.broken == 0 for outcome in result.outcomes)


def command_line() -> typer.Typer:
    app = typer.Typer()
    app.command()(simulate.command)
    return app


def test_the_report_names_promise_costs_verdicts_and_answers():
    rows = [*ROWS, ("never", "oslo", "apple", 1)]
    done = CliRunner().invoke(
        command_line(), [str(monitor()), "--trace", trace(rows), "--epoch", "10s", "--methods", "all"]
    )
    assert done.exit_code == 0, done.output
    for text in (
        "promise: valid within 0 (always)",
        "5 events at 2 sites in 4 epochs of 10s",
        "1 of 6 rows are left out: 1 faulty",
        "of caching",
        "(shipping every count)",
        "caching: all",
        "answers at 2024-05-01T00:00:40Z",
    ):
        assert text in done.stdout, text


def test_the_json_report_is_one_object_on_standard_output():
    done = CliRunner().invoke(command_line(), [str(monitor()), "--trace", trace(), "--epoch", "10s", "--json"])
    plain = json.loads(done.stdout)
    assert plain["promise_kept"] is True
    assert plain["methods"]["caching"]["entries"] == 4
    assert plain["methods"]["caching"]["answers"][0] == {
        "node": "@coordinator", "tick": "2024-05-01T00:00:40Z", "key": "apple", "rank": 1,
        "estimate": 3.0, "low": 3.0, "high": 3.0, "confidence": 1.0, "partial": False,
    }  # fmt: skip


def test_names_out_of_data_are_shown_on_one_line_and_never_as_markup():
    Path("odd.csv").write_text('time,site,item\n2024-05-01,a,"[red]x\ny[/red]"\n', "utf-8")
    done = CliRunner().invoke(command_line(), [str(monitor()), "--trace", "odd.csv", "--epoch", "1d"])
    assert "[red]x\\ny[/red]" in done.stdout, done.output


def test_a_trace_is_made_by_the_same_command():
    arguments = [
        "--generate",
        "walk",
        "--out",
        "walk",
        "--sites",
        "3",
        "--hours",
        "2",
        "--events-per-hour",
        "60",
    ]
    done = CliRunner().invoke(command_line(), arguments)
    assert done.exit_code == 0, done.output
    assert "outage: site" in done.stdout
    assert len(list(Path("walk").glob("*.csv.gz"))) == 6
    again = CliRunner().invoke(command_line(), arguments)
    assert isinstance(again.exception, UsageError)
    assert isinstance(CliRunner().invoke(command_line(), ["--generate", "cdn"]).exception, UsageError)
    assert isinstance(CliRunner().invoke(command_line(), []).exception, UsageError)


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("wiki_edits_2015-09-12.csv.gz", {"epoch": "3h"}, "k: 10\n"),
        pytest.param("wiki_edits_2015-09-12.csv.gz", {"epoch": "1h"}, "k: 10\n", marks=pytest.mark.long),
        ("zeek_dns_wrccdc_2018-03-24.csv.xz", {"epoch": "1m"}, "k: 10\nwindow: 5m\ntolerance: 50\n"),
        ("retail_2009-12_2010-11.csv.xz", {"epoch": "7d"}, "k: 10\nmeasure: sum(value)\nsigned: true\n"),
    ],
)
def test_every_method_keeps_its_promise_on_a_real_trace(traces: Path, name: str, given: dict[str, Any], text: str):
    Path("real.yml").write_text(f"question: top-k\nmethod: caching\n{text}", "utf-8")
    result = simulate.run(Path("real.yml"), trace=str(traces / name), methods="all", **given)
    assert result.account.counted == result.account.read > 30_000
    assert all(outcome.broken == 0 for outcome in result.outcomes)
