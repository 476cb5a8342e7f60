"""Times to exact microseconds."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from jobs.input.reading.reasons import Reasons
from jobs.input.reading.times import parse_times
from monitoring_lib.epochs import parse_time

from .conftest import make_source


def parsed(values, kind=None, **keys):
    reasons = Reasons()
    times = parse_times(pa.array(values, kind or pa.string()), make_source(**keys), reasons)
    assert times.type == pa.timestamp("us", "UTC")
    return times.cast(pa.int64()).to_pylist(), {row: reason.text for row, reason in reasons.by_row.items()}


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2001-01-01T00:01", 978_307_260_000_000),
        ("2015-09-12T00:46:58.771Z", 1_442_018_818_771_000),
        ("1998-04-30 21:30:00", 893_971_800_000_000),
        ("2006-07-01", 1_151_712_000_000_000),
        ("0", 0),
        ("807249601", 807_249_601_000_000),
        ("1521911720.865716", 1_521_911_720_865_716),
        ("1521911720.8657169", 1_521_911_720_865_716),
        ("-1.5", -1_500_000),
        ("-0.0000001", -1),
        ("2001-01-01T01:00:00+01:00", 978_307_200_000_000),
        ("2001-01-01T01:00:00.123456789+0100", 978_307_200_123_456),
        (" 2001-01-01T00:00Z ", 978_307_200_000_000),
        ("2001-01-01T00:00:00,5", 978_307_200_500_000),
        ("20010101T000100", 978_307_260_000_000),
        ("1969-12-31T23:59:59.999999", -1),
    ],
)
def test_iso_8601_and_seconds_since_1970_need_no_option(text, micros):
    assert parsed([text]) == ([micros], {})
    # beside one that is written differently, each is still read for what it is
    assert parsed([text, "nonsense", None, "2001-01-01", text])[0] == [
        micros,
        None,
        None,
        978_307_200_000_000,
        micros,
    ]


@pytest.mark.parametrize(
    "text", ["32/13", "2001-02-29", "2001-13-01", "2001-01-01T25:00", "2001-W01-1", "noon", "1e9", "0x10",
             "99999999999999", "2001-01-01x00:00", "2001-01-01T00:00+99:00"]
)  # fmt: skip
def test_what_is_no_time_is_a_fault(text):
    times, faults = parsed(["2001-01-01", text])
    assert times == [978_307_200_000_000, None]
    assert faults == {1: f"time {text!r} is neither ISO 8601 nor seconds since 1970"}


def test_a_missing_time_is_left_to_the_caller():
    assert parsed([None, "2001-01-01"]) == ([None, 978_307_200_000_000], {})
    assert parsed([None, None]) == ([None, None], {})


@pytest.mark.parametrize(
    ("pattern", "text", "moment"),
    [
        ("%d/%m/%Y %H:%M", "31/01/2001 06:30", "2001-01-31T06:30Z"),
        ("%d/%b/%Y:%H:%M:%S %z", "01/Aug/1995:00:00:01 -0400", "1995-08-01T04:00:01Z"),
        ("%Y%m%d", "20110303", "2011-03-03"),
        ("%Y-%m-%d %H:%M:%S.%f", "2001-01-01 00:00:00.123456", "2001-01-01T00:00:00.123456Z"),
    ],
)
def test_a_pattern_says_how_times_are_written(pattern, text, moment):
    assert parsed([text, None], time_format=pattern) == ([parse_time(moment), None], {})
    times, faults = parsed([text, "32/13"], time_format=pattern)
    assert times == [parse_time(moment), None]
    assert faults == {1: f"time '32/13' does not match {pattern}"}


@pytest.mark.parametrize(
    ("unit", "text", "micros"),
    [
        ("seconds", "1.5", 1_500_000),
        ("milliseconds", "1521911720865", 1_521_911_720_865_000),
        ("milliseconds", "0.5", 500),
        ("microseconds", "1521911720865716", 1_521_911_720_865_716),
    ],
)
def test_numbers_may_be_of_a_finer_unit(unit, text, micros):
    assert parsed([text, text], time_format=unit) == ([micros, micros], {})
    assert parsed([text, "2001-01-01"], time_format=unit)[1] == {
        1: f"time '2001-01-01' is no number of {unit} since 1970"
    }


def test_times_without_a_zone_are_of_the_source_s_zone():
    summer, winter, own = "2021-07-01T12:00", "2021-12-01T12:00", "2021-07-01T12:00Z"
    times, faults = parsed([summer, winter], time_zone="Europe/Berlin")
    assert (times, faults) == ([parse_time("2021-07-01T10:00Z"), parse_time("2021-12-01T11:00Z")], {})
    assert parsed([own, summer, "0"], time_zone="Europe/Berlin")[0] == [
        parse_time(own), parse_time("2021-07-01T10:00Z"), 0,
    ]  # fmt: skip
    assert parsed(["01.07.2021 12"], time_zone="Europe/Berlin", time_format="%d.%m.%Y %H")[0] == [
        parse_time("2021-07-01T10:00Z")
    ]


def test_an_hour_that_the_zone_skips_is_a_fault():
    times, faults = parsed(["2021-03-28T02:30", "2021-03-28T03:30"], time_zone="Europe/Berlin")
    assert times == [None, parse_time("2021-03-28T01:30Z")]
    assert faults == {0: "time '2021-03-28 02:30:00' does not exist in Europe/Berlin: clocks went forward"}


@pytest.mark.parametrize(
    ("meaning", "moment"), [("fault", None), ("first", "2021-10-31T00:30Z"), ("second", "2021-10-31T01:30Z")]
)
def test_an_hour_that_the_zone_has_twice_is_what_the_source_says(meaning, moment):
    times, faults = parsed(["2021-10-31T02:30"], time_zone="Europe/Berlin", repeated_hour=meaning)
    assert times == [moment and parse_time(moment)]
    assert bool(faults) == (meaning == "fault")
    assert all("comes twice in Europe/Berlin" in reason for reason in faults.values())


@pytest.mark.parametrize(
    ("value", "kind", "keys", "micros"),
    [
        (datetime(2001, 1, 1, tzinfo=UTC), pa.timestamp("ms", "America/New_York"), {}, 978_307_200_000_000),
        (datetime(2001, 1, 1), pa.timestamp("ns"), {}, 978_307_200_000_000),
        (datetime(2001, 1, 1), pa.timestamp("s"), {"time_zone": "Europe/Berlin"}, 978_303_600_000_000),
        (datetime(2001, 1, 1).date(), pa.date32(), {}, 978_307_200_000_000),
        (978_307_200, pa.int32(), {}, 978_307_200_000_000),
        (978_307_200_123, pa.int64(), {"time_format": "milliseconds"}, 978_307_200_123_000),
        (1521911720.865716, pa.float64(), {}, 1_521_911_720_865_716),
        (20110303, pa.int64(), {"time_format": "%Y%m%d"}, 1_299_110_400_000_000),
    ],
)
def test_columns_that_have_a_type_keep_what_it_means(value, kind, keys, micros):
    assert parsed([value, None], kind, **keys) == ([micros, None], {})


def test_numbers_beyond_the_calendar_are_faults():
    times, faults = parsed([10**15, 0], pa.int64())
    assert (times, faults) == ([None, 0], {0: "time 1000000000000000 lies outside the years 1 to 9999"})
    times, faults = parsed([float("nan"), 0.0, float("inf")], pa.float64())
    assert times == [None, 0, None]
    assert sorted(faults) == [0, 2]
