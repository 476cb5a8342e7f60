"""`farwatch query MONITOR`: what a reader sees is what is sealed, with all that it takes to trust it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.epoch.asked_then import source_then
from jobs.looking import query
from jobs.looking.answer import ShownAnswer, look, look_briefly
from jobs.looking.answer_report import promise_line, to_plain
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import NotNow, UsageError
from monitoring_lib.tables import SYNOPSES
from tests.jobs.sealed_home import BUSIEST, SOURCE, SealedHome, bought

Say = Callable[..., str]


@pytest.fixture
def home(tmp_path: Path) -> SealedHome:
    """Three hours: a and b lead, then b and c, then d comes."""
    shop = SealedHome(tmp_path)
    shop.land(
        [
            *bought(0, north="aaaaaaaaaabbbb", south="aaaaabbb"),
            *bought(1, north="bbbbbbbbbbbbcccccccccccccccccccccc", south="bbbbb"),
            *bought(2, south="d" * 40),
        ]
    )
    shop.run(0, 3)
    return shop


@pytest.fixture
def say(home: SealedHome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """What the command prints."""
    for name, value in home.environment.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: Any, **options: Any) -> str:
        query.run(*arguments, **options)
        return capsys.readouterr().out

    return run


def looked(home: SealedHome, time: str | None = None, history: int = 0, monitor: str = "busiest") -> ShownAnswer:
    return look(home.context(), monitor, time, history)


def since(found: ShownAnswer) -> dict[str, str]:
    assert found.since is not None
    return {key: format_time(start) for (_, key), start in found.since.items()}


def test_the_answer_is_printed_with_rank_item_bounds_and_since_when(say: Say) -> None:
    lines = say("busiest").splitlines()
    assert lines[0] == "Busiest items (busiest): top-k by count, growing, method caching"
    assert lines[1].split() == ["rank", "item", "estimate", "low..high", "since"]
    assert [line.split() for line in lines[2:4]] == [
        ["1", "d", "40", "38..42", "2020-01-01T02:00Z"],
        ["2", "b", "24", "22..26", "2020-01-01"],
    ]


def test_what_is_promised_is_said_in_a_sentence(say: Say) -> None:
    assert (
        "that is: no item outside the list exceeds one inside by more than 4; the order inside is by estimate"
        in say("busiest").splitlines()
    )


def test_one_nodes_view_can_be_asked_for_and_one_that_said_nothing_is_named(say: Say) -> None:
    assert "38..42" in say("busiest", node="@coordinator")
    with pytest.raises(UsageError, match="'north' published nothing in epoch 2020-01-01T02:00Z"):
        say("busiest", node="north")


def test_the_links_of_the_network_are_listed_with_what_they_carried(say: Say) -> None:
    found = json.loads(say("busiest", links=True, epoch="2020-01-01", as_json=True))["links"]
    assert [link["ends"] for link in found["links"]] == [["north", "@coordinator"], ["south", "@coordinator"]]
    assert found["root"] == found["total"] == sum(link["entries"] for link in found["links"]) > 0
    assert "root load" in say("busiest", links=True, epoch="2020-01-01").splitlines()[-1]


def test_a_method_whose_states_cannot_be_asked_says_so(say: Say) -> None:
    with pytest.raises(UsageError, match="cannot be asked anything but the monitor's own question"):
        say("busiest", range_="2h")
    with pytest.raises(UsageError, match="--range: 'long' is not a duration"):
        say("busiest", range_="long")


def test_the_line_below_says_promise_sites_epoch_and_what_crossed(home: SealedHome) -> None:
    found = looked(home)
    sent = found.traffic.bytes
    assert promise_line(found) == (
        "valid within 4 (always), 2 of 2 sites, epoch 2020-01-01T02:00Z,"
        f" {sent} B crossed where shipping every count would take 16 B"
    )
    assert 0 < sent < 16


def test_an_exact_number_stands_alone_and_bounds_stand_as_two(tmp_path: Path) -> None:
    exact = SealedHome(tmp_path, monitors=[BUSIEST | {"tolerance": 0}])
    exact.land(bought(0, north="aaab"))
    exact.run(0, 1)
    rows = looked(exact).rows
    assert [(row["key"], row["low"], row["high"]) for row in rows] == [("a", 3, 3), ("b", 1, 1)]
    done = exact.command("query", "busiest")
    assert "1  a            3          3  2020-01-01" in done.stdout


def test_a_stay_begins_anew_once_it_was_broken(home: SealedHome) -> None:
    assert since(looked(home, "2020-01-01T01:00")) == {"b": "2020-01-01", "c": "2020-01-01T01:00Z"}
    home.land(bought(3, north="c" * 60))
    home.run(3, 4)
    assert since(looked(home)) == {"c": "2020-01-01T03:00Z", "d": "2020-01-01T02:00Z"}


def test_long_stays_are_followed_to_their_beginning(tmp_path: Path) -> None:
    long = SealedHome(tmp_path, monitors=[BUSIEST | {"k": 1}])
    long.land([*bought(0, north="bb"), *(event for hour in range(1, 130) for event in bought(hour, north="a" * 9))])
    long.run(0, 130)
    assert since(looked(long)) == {"a": "2020-01-01T01:00Z"}


def test_an_epoch_is_found_by_any_time_within_it(home: SealedHome) -> None:
    assert (
        looked(home, "2020-01-01T01:59:59").epoch.seal.epoch_start
        == looked(home, "2020-01-01T01:00").epoch.seal.epoch_start
    )
    assert len(looked(home, "2020-01-01").epoch.chain) == 1


@pytest.mark.parametrize(
    ("time", "error", "sentence"),
    [
        ("2020-01-01T03:00", NotNow, "T03:00Z is not sealed, those from 2020-01-01 to 2020-01-01T02:00Z are"),
        ("2019-12-31", UsageError, "the epochs of shop begin at 2020-01-01"),
        ("yesterday", UsageError, "--epoch: 'yesterday' is not an ISO 8601 time"),
    ],
)  # fmt: skip
def test_an_epoch_that_is_not_there_is_a_clear_sentence(
    home: SealedHome, time: str, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        looked(home, time)


def test_before_the_first_seal_the_command_that_makes_it_is_named(tmp_path: Path) -> None:
    fresh = SealedHome(tmp_path)
    with pytest.raises(NotNow, match="no epoch is sealed yet; go on by `farwatch run --source shop --from 2020-01-01 "):
        looked(fresh)


def test_missing_sites_are_named_and_bounded(tmp_path: Path) -> None:
    shop = SealedHome(tmp_path)
    names = [f"site {number}" for number in range(8)]
    shop.land([(hour, name, "a") for hour in range(2) for name in names])
    shop.run(0, 1)
    shop.run(1, 2, missing=dict.fromkeys(names[:7], "silent"))
    line = promise_line(looked(shop))
    assert "1 of 8 sites (missing: 'site 0', 'site 1', 'site 2', 'site 3', 'site 4' and 2 more)" in line
    assert to_plain(looked(shop))["missing_sites"] == names[:7]


def test_without_any_site_a_promise_holds_as_of_the_last_reports_and_a_window_that_moves_on_is_partial(
    tmp_path: Path,
) -> None:
    shop = SealedHome(tmp_path, monitors=[BUSIEST, BUSIEST | {"name": "recent", "window": "2h"}])
    shop.land(bought(0, north="aab", south="b", west="c"))
    shop.run(0, 1)
    shop.run(1, 2, missing=dict.fromkeys(("north", "south", "west"), "silent"))
    line = promise_line(looked(shop))
    assert line.startswith("valid within 4 (always) as of each missing site's last report, 0 of 3 sites (missing: ")
    assert promise_line(looked(shop, monitor="recent")).startswith("partial, as sites are missing")


def test_an_answer_that_cannot_be_proved_without_a_site_is_partial(tmp_path: Path) -> None:
    shop = SealedHome(tmp_path, monitors=[BUSIEST | {"k": 1, "tolerance": 8}])
    shop.land([*bought(0, south="a" * 20), *bought(1, north="bb", east="bb", west="bb")])
    shop.run(0, 1)
    shop.run(1, 2, missing={"south": "silent"})
    found = looked(shop)
    assert promise_line(found).startswith(
        "partial, as sites are missing (instead of valid within 8 (always) as of each missing site's last report),"
        " 3 of 4 sites"
    )
    assert [line.split()[:2] for line in shop.command("query", "busiest").stdout.splitlines()[2:3]] == [["1", "a"]]
    assert to_plain(found)["partial"]
    assert not to_plain(looked(shop, "2020-01-01"))["partial"]


def test_a_revision_is_told_with_its_reason_and_the_old_epoch_is_gone_from_the_answer(home: SealedHome) -> None:
    home.land(bought(2, north="e" * 90))
    home.run(2, 3, revise="late rows")
    found = looked(home)
    assert [row["key"] for row in found.rows] == ["e", "d"]
    assert "revision 1 (late rows)" in promise_line(found)


def test_what_no_seal_names_is_not_seen(home: SealedHome) -> None:
    before = to_plain(looked(home))
    home.events.append((2, "north", "z"))
    home.run(2, 3, revise="an orphan", seal=())
    home.run(3, 4, seal=())
    assert to_plain(looked(home)) == before


def test_a_sealed_answer_is_seen_even_if_it_was_never_published(home: SealedHome) -> None:
    home.land(bought(3, south="e" * 99))
    home.run(3, 4, published=False)
    assert [row["key"] for row in looked(home).rows] == ["e", "d"]


def test_shadows_do_not_count_as_what_crossed(tmp_path: Path) -> None:
    events = [event for hour in range(3) for event in bought(hour, north="aab" * (hour + 1), south="ccd")]
    alone, shadowed = (
        SealedHome(tmp_path / "alone"),
        SealedHome(tmp_path / "shadowed", [BUSIEST | {"shadow": ["margins"]}]),
    )
    for shop in (alone, shadowed):
        shop.land(events)
        shop.run(0, 3)
    assert looked(shadowed).traffic == looked(alone).traffic
    assert looked(shadowed).so_far == looked(alone).so_far
    assert looked(alone).so_far.bytes > looked(alone).traffic.bytes


def test_shipping_counts_every_synopsis_of_the_chain_once(home: SealedHome) -> None:
    home.run(0, 3, revise="again")
    context = home.context()
    seals = context.lake.ledger.seals("shop", "busiest")
    payloads = context.lake.sealed(SYNOPSES, seals, ["synopses"], columns=["payload"])["payload"].to_pylist()
    assert len(payloads) == 5
    assert looked(home).so_far.shipping == sum(map(len, payloads))


def test_the_promise_is_that_of_the_sealed_configuration_and_a_change_is_said(home: SealedHome, say: Say) -> None:
    home.monitors = [BUSIEST | {"tolerance": 100}]
    home.configure()
    text = say("busiest")
    assert "valid within 4 (always)" in text
    assert "the configuration of busiest has changed since this epoch was sealed" in text


def test_late_rows_make_the_answer_stale_from_their_epoch_on(home: SealedHome, say: Say) -> None:
    home.land(bought(1, north="zz"))
    assert looked(home, "2020-01-01").stale is None
    command = (
        "farwatch run --source shop --from 2020-01-01T01:00Z --to 2020-01-01T03:00Z"
        " --monitors busiest --revise 'late rows'"
    )
    assert f"stale from epoch 2020-01-01T01:00Z on: 2 rows landed after the seal; replay it by `{command}`" in say(
        "busiest"
    )


def test_odd_names_are_printed_on_one_line_without_control_characters(tmp_path: Path) -> None:
    odd = "\x1b[31mred\n\r\t'\"/;--\u202e" + "x" * 10_000
    shop = SealedHome(tmp_path, monitors=[BUSIEST | {"tolerance": 0}])
    shop.land([(0, "s\n1", odd), (0, "[bold]x", "[red]y[/red]")])
    shop.run(0, 1)
    done = shop.command("query", "busiest", "--history", "1")
    assert done.returncode == 0, done.stderr
    assert not any(character in done.stdout for character in "\x1b\r\t\u202e")
    assert "\\x1b[31mred\\n\\r\\t'" in done.stdout
    assert "[red]y[/red]" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 400
    assert json.loads(shop.command("query", "busiest", "--json").stdout)["answers"][1]["key"] in (odd, "[red]y[/red]")


def test_a_name_that_the_terminal_cannot_spell_is_escaped(tmp_path: Path) -> None:
    shop = SealedHome(tmp_path, monitors=[BUSIEST | {"tolerance": 0}])
    shop.land([(0, "north", "日本")])
    shop.run(0, 1)
    done = shop.command("query", "busiest", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert "\\u65e5\\u672c" in done.stdout


def test_history_tells_who_entered_and_left(say: Say) -> None:
    lines = say("busiest", history=2).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("epoch"))
    columns = [lines[at].index(title) for title in ("answer", "entered", "left")]
    assert [[line[start:].split("  ")[0].strip() for start in columns] for line in lines[at + 1 :]] == [
        ["d, b", "d", "c"],
        ["b, c", "", ""],
    ]


def test_json_holds_the_same_for_machines(home: SealedHome, say: Say) -> None:
    found = json.loads(say("busiest", history=5, as_json=True))
    assert [(row["rank"], row["key"], row["since"]) for row in found["answers"]] == [
        (1, "d", "2020-01-01T02:00Z"),
        (2, "b", "2020-01-01"),
    ]
    assert found["so_far"]["epochs"] == len(found["history"]) == 3
    assert found["so_far"]["bytes"] == sum(past["bytes"] for past in found["history"])
    assert (found["epoch_start"], found["epoch_end"]) == ("2020-01-01T02:00Z", "2020-01-01T03:00Z")
    assert (found["sites"], found["missing_sites"], found["stale"], found["partial"]) == (2, [], None, False)


def test_a_brief_answer_is_the_last_one_without_its_history(home: SealedHome, say: Say) -> None:
    whole, brief = (json.loads(say("busiest", as_json=True, brief=brief)) for brief in (False, True))
    for row in whole["answers"]:
        del row["since"]
    differing = {name for name in whole if whole[name] != brief[name]}
    assert differing == {"so_far", "text"}
    assert brief["so_far"] is None
    assert say("busiest", brief=True).splitlines() == [line.rstrip() for line in brief["text"]]
    assert [line for line in whole["text"] if line not in brief["text"] and "since" not in line] == [
        line for line in whole["text"] if line.startswith("   ")
    ]
    with pytest.raises(UsageError, match="--brief shows the last sealed epoch: leave out --epoch"):
        say("busiest", brief=True, history=1)
    with pytest.raises(NotNow, match="no epoch is sealed yet"):
        look_briefly(SealedHome(home.home / "other").context(), "busiest")


def test_a_brief_answer_says_that_its_chain_is_stale(home: SealedHome) -> None:
    home.land(bought(1, north="z" * 30), "late.csv")
    whole, brief = looked(home), look_briefly(home.context(), "busiest")
    assert brief.stale is not None
    assert brief.stale == whole.stale


def test_an_epoch_without_any_events_has_an_empty_answer(tmp_path: Path) -> None:
    shop = SealedHome(tmp_path)
    shop.run(0, 2)
    done = shop.command("query", "busiest")
    assert "the answer of this epoch has no rows" in done.stdout
    assert "0 of 0 sites" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "name a monitor, or ask by --sql"),
        ({"monitors": ["busiest"], "sql": "SELECT 1"}, "name a monitor, or ask by --sql"),
        ({"sql": "SELECT 1", "epoch": "2020-01-01"}, "--epoch, --history and the like belong to a monitor"),
        ({"monitors": ["busiest"], "history": -1}, "--history -1: write a number of epochs"),
        ({"monitors": ["busyest"]}, "unknown monitor 'busyest'; did you mean 'busiest'?"),
        ({"monitors": ["busiest", "busiest"], "point": "a"}, "ask one monitor at a time"),
    ],
)
def test_wrong_arguments_are_one_sentence(say: Say, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        say(*arguments.pop("monitors", ()), **arguments)
    assert sentence in str(caught.value)


def test_several_monitors_are_printed_one_after_the_other_and_as_json_in_a_list(say: Say) -> None:
    alone = say("busiest")
    assert say("busiest", "busiest") == f"{alone}\n{alone}"
    assert json.loads(say("busiest", "busiest", as_json=True)) == [json.loads(say("busiest", as_json=True))] * 2


def test_a_source_of_wide_rows_is_known_again_from_its_seals(tmp_path: Path) -> None:
    columns = {"time": "time", "site": "site", "item": "item"}
    wide = SOURCE | {"columns": columns, "unpivot": {"columns": "c0..c1", "step": "30m"}}
    shop = SealedHome(tmp_path, source=wide)
    shop.land(bought(0, north="aab"))
    shop.run(0, 1)
    done = shop.command("query", "busiest")
    assert done.returncode == 0, done.stderr
    assert source_then(shop.context().lake.ledger.seals("shop", "busiest")[0]).unpivot == (
        shop.context().config.source("shop").unpivot
    )
