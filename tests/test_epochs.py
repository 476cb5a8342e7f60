"""Durations, times, clocks and windows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring_lib.epochs import (
    Clock,
    Window,
    format_duration,
    format_time,
    parse_duration,
    parse_time,
    to_datetime,
    to_microseconds,
)

SECOND, DAY = 1_000_000, 86_400_000_000
times = st.integers(parse_time("0001-01-02"), parse_time("9999-12-30"))


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("10s", 10 * SECOND), ("5m", 300 * SECOND), ("1d", DAY), ("1w", 7 * DAY), ("1h30m", 5400 * SECOND),
        ("250ms", 250_000), ("3us", 3), (" 2 h 5 m ", 7500 * SECOND), ("0h1s", SECOND),
    ],
)  # fmt: skip
def test_durations_are_read_as_people_write_them(text: str, microseconds: int) -> None:
    assert parse_duration(text) == microseconds


@pytest.mark.parametrize("text", ["", "10", "s", "1x", "-1s", "1.5h", "1h30", "0s", "1d!", "1 month"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration; .*10s") as refusal:
        parse_duration(text)
    assert repr(text) in str(refusal.value)


@given(st.integers(1, 10**15))
def test_a_formatted_duration_reads_back(microseconds: int) -> None:
    assert parse_duration(format_duration(microseconds)) == microseconds


def test_durations_are_formatted_as_short_as_can_be() -> None:
    assert [format_duration(n) for n in (DAY, 90 * 60 * SECOND, 8 * DAY, 1, 0)] == [
        "1d",
        "1h30m",
        "1w1d",
        "1us",
        "0s",
    ]


@given(times)
def test_a_formatted_time_reads_back(microseconds: int) -> None:
    assert parse_time(format_time(microseconds)) == microseconds
    assert to_microseconds(to_datetime(microseconds)) == microseconds


@pytest.mark.parametrize(
    "text",
    ["2001-04-30", "2001-04-30T06:05Z", "2001-04-30T06:05:07Z", "2001-04-30T06:05:07.000008Z", "0987-01-02"],
)
def test_times_are_as_fine_as_they_need_to_be(text: str) -> None:
    assert format_time(parse_time(text)) == text


def test_zones_are_turned_into_utc_and_none_means_utc() -> None:
    assert parse_time("2001-01-31T08:00+02:00") == parse_time("2001-01-31T06:00Z") == parse_time("2001-01-31 06:00")
    there = datetime(2001, 1, 31, 8, tzinfo=timezone(timedelta(hours=2)))
    assert to_microseconds(there) == to_microseconds(datetime(2001, 1, 31, 6, tzinfo=UTC))
    assert to_microseconds(datetime(2001, 1, 31, 6)) == to_microseconds(there)


@pytest.mark.parametrize("text", ["", "yesterday", "2001-13-01", "31/01/2001"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not an ISO 8601 time; write 2001-01-31") as refusal:
        parse_time(text)
    assert repr(text) in str(refusal.value)


@given(times, times, st.integers(1, 10 * DAY))
def test_every_time_lies_in_exactly_its_epoch(origin: int, time: int, length: int) -> None:
    clock = Clock(origin, length)
    epoch = clock.epoch_of(time)
    assert clock.start_of(epoch) <= time < clock.end_of(epoch) == clock.start_of(epoch + 1)
    assert clock.epoch_of(clock.start_of(epoch)) == epoch == clock.epoch_of(clock.end_of(epoch) - 1)


def test_an_epoch_is_named_by_its_start() -> None:
    assert Clock(parse_time("2001-01-01"), DAY).name(119) == "2001-04-30"


def test_a_growing_window_holds_everything_since_the_last_reset() -> None:
    assert list(Window().members(3)) == [0, 1, 2, 3]
    weekly = Window(reset=7)
    assert list(weekly.members(8)) == [7, 8]
    assert [weekly.period_of(epoch) for epoch in (0, 6, 7, 14)] == [0, 0, 1, 2]
    assert list(weekly.leaving(3, 9)) == []


def test_a_sliding_window_holds_the_last_epochs_and_lets_go_of_one_at_a_time() -> None:
    window = Window(length=3)
    assert [list(window.members(now)) for now in (0, 2, 5)] == [[0], [0, 1, 2], [3, 4, 5]]
    assert [list(window.leaving(now - 1, now)) for now in (0, 1, 2, 3, 4)] == [[], [], [], [0], [1]]
    assert window.period_of(100) == 0


@given(st.integers(1, 6), st.sets(st.integers(0, 30), min_size=1))
def test_what_a_site_observed_and_what_left_add_up_to_what_counts(length: int, observed: set[int]) -> None:
    window, held, seen = Window(length=length), set(), -1
    for now in sorted(observed):
        left = set(window.leaving(seen, now)) & observed
        assert left <= held, "only what is there can leave"
        held = (held - left) | {now}
        assert held == set(window.members(now)) & {epoch for epoch in observed if epoch <= now}
        seen = now
