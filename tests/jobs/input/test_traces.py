"""The real traces read without a fault, and add up to what is known of them."""

from __future__ import annotations

from datetime import timedelta

import pyarrow.compute as pc
import pytest

from .conftest import table_of

TIMED = {"time": "time"}
VALUED = TIMED | {"value": "value"}
PLAIN = VALUED | {"site": "site", "item": "item"}
FLOWS = TIMED | {"site": "site", "item": "item", "src": "src", "dst": "dst"}
CPU = {"columns": {"time": "date", "site": "vm", "value": "c0"}, "time_format": "%Y%m%d"}
AIR = {"columns": TIMED | {"site": "site", "value": "PM2.5"}, "scale": 10, "time_zone": "Asia/Shanghai"}
HEAT = {"columns": VALUED | {"site": "site"}, "scale": 100}
PRICES = {"columns": PLAIN | {"value": "price"}, "scale": 1000}


@pytest.mark.parametrize(
    ("name", "keys", "rows", "total", "sites"),
    [
        ("flights_2001_jan-apr.csv.xz", {"columns": PLAIN}, 1_978_941, 13_770_217, 227),
        ("retail_2009-12_2010-11.csv.xz", PRICES, 502_938, None, 40),
        ("wiki_edits_2015-09-12.csv.gz", {"columns": PLAIN}, 39_244, None, 51),
        (
            "twitter_cache_cluster52_1M.csv.xz",
            {"columns": VALUED | {"item": "item"}},
            1_000_000,
            204_308_503,
            0,
        ),
        ("zeek_dns_wrccdc_2018-03-24.csv.xz", {"columns": FLOWS}, 53_615, None, None),
        ("zeek_ssl_wrccdc_2018-03-24.csv.xz", {"columns": FLOWS}, 49_474, None, None),
        ("cs448b_flows_2006.csv.gz", {"columns": PLAIN}, 20_803, None, 10),
        ("nasa_http_1995-08-01.csv.gz", {"columns": PLAIN | {"site": "host"}}, 33_996, None, None),
        ("wc98_requests_per_minute.csv.gz", {"columns": VALUED}, 125_300, 1_352_804_107, 0),
        ("intel_lab_temperature_days1-4.csv.xz", HEAT, 599_040, None, 52),
        ("planetlab_cpu_5days.csv.xz", CPU, 5_605, None, None),
        ("beijing_air_2013-15.csv.xz", AIR, 210_240, None, 12),
    ],
    ids=lambda value: value.partition(".")[0] if isinstance(value, str) else "",
)
def test_a_real_trace_reads_without_a_fault(traces, name, keys, rows, total, sites):
    found = table_of(traces / name, **keys)
    assert found.num_rows == rows
    assert found["fault"].null_count == rows
    assert found["time"].null_count == 0
    assert found["line"].to_pylist()[:: rows - 1] == [1, rows]
    if total is not None:
        assert pc.sum(found["value"]).as_py() == total
    if sites is not None:
        assert pc.count_distinct(found["site"]).as_py() == sites


def test_the_wide_trace_gives_an_event_for_each_reading(traces):
    columns = {"time": "date", "site": "vm"}
    wide = {"columns": "c0..c287", "step": "5m", "name": "slot"}
    found = table_of(traces / "planetlab_cpu_5days.csv.xz", columns=columns, time_format="%Y%m%d", unpivot=wide)
    assert found.num_rows == 5_605 * 288
    assert found["fault"].null_count == found.num_rows
    assert pc.count_distinct(found["line"]).as_py() == found.num_rows
    first = found.slice(0, 288)
    assert pc.max(first["time"]).as_py() - pc.min(first["time"]).as_py() == timedelta(minutes=5 * 287)
    assert first["value"].to_pylist()[:3] == [24, 34, 29]


def test_several_values_of_one_row_are_kept_with_their_gaps(traces):
    values = {"pm25": "PM2.5", "wind": "WSPM", "pressure": {"column": "PRES", "scale": 100}}
    found = table_of(traces / "beijing_air_2013-15.csv.xz", columns=TIMED | {"site": "site"}, scale=10, values=values)
    faults = [fault for fault in found["fault"].to_pylist() if fault is not None]
    assert all("needs scale" in fault for fault in faults)
    kept = found.filter(found["fault"].is_null())
    assert kept.num_rows > 209_000
    assert dict(kept["values"][0].as_py()) == {"pm25": 40, "pressure": 102_300, "wind": 44}
    assert 0 < pc.map_lookup(kept["values"].combine_chunks(), "pm25", "first").null_count < 10_000
