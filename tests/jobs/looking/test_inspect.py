"""`farwatch inspect`: what the nodes of a sealed epoch said and remember, decoded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from jobs.looking.inspection import inspect
from jobs.looking.inspection_report import MOST_RECORDS
from monitoring_lib.errors import StorageError, UsageError
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought


@pytest.fixture
def home(tmp_path: Path) -> SealedHome:
    shop = SealedHome(tmp_path, monitors=[BUSIEST | {"shadow": ["margins"], "tolerance": 0}])
    shop.land([*bought(0, north="aab", south="c"), *bought(1, north="a", south="cd"), *bought(2, south="c")])
    shop.run(0, 3)
    return shop


def records(home: SealedHome, what: str, time: str | None = None, **more: Any) -> list[Any]:
    return list(inspect(home.context(), "busiest", time, what, **more).records)


def test_messages_are_decoded_in_order_of_delivery(home: SealedHome) -> None:
    found = records(home, "messages", "2020-01-01T01:00")
    assert [(row["sender"], row["receivers"], row["kind"], row["content"]) for row in found] == [
        ("north", ["@coordinator"], "site-sums", {"names": ["a"], "values": [3]}),
        ("south", ["@coordinator"], "site-sums", {"names": ["c", "d"], "values": [2, 1]}),
    ]


def test_a_node_picks_what_it_sent_and_received(home: SealedHome) -> None:
    assert [row["sender"] for row in records(home, "messages", "2020-01-01", node="south")] == ["south"]
    assert len(records(home, "messages", "2020-01-01", node="@coordinator")) == 2
    assert {row["sender"] for row in records(home, "messages", method="margins", time="2020-01-01")} >= {"north"}


def test_states_are_those_of_the_epochs_end(home: SealedHome) -> None:
    [centre] = records(home, "state", "2020-01-01T01:00")
    assert (centre["node"], centre["kind"]) == ("@coordinator", "CachingCoordinatorState")
    assert centre["content"]["copies"] == [["north", "a", 3], ["north", "b", 1], ["south", "c", 2], ["south", "d", 1]]
    [site] = records(home, "state", "2020-01-01T01:00", node="south")
    assert (site["kind"], site["content"]["sums"]) == ("CachingSiteState", [["c", 2], ["d", 1]])
    [site] = records(home, "state", node="south")
    assert site["content"]["sums"] == [["c", 3], ["d", 1]]


def test_a_shadows_states_can_be_looked_at_too(home: SealedHome) -> None:
    [site] = records(home, "state", node="south", method="margins")
    assert ["c", 3] in site["content"]["sums"]


def test_the_answer_and_the_seal_are_shown_as_sealed(home: SealedHome) -> None:
    assert [(row["rank"], row["key"], row["low"]) for row in records(home, "answer")] == [(1, "a", 3), (2, "c", 3)]
    [seal] = records(home, "seal", "2020-01-01")
    assert (seal["epoch_start"], seal["joined_sites"], seal["parent"]) == ("2020-01-01", ["north", "south"], "")
    [after] = records(home, "seal", "2020-01-01T01:00")
    assert after["parent"] == seal["digest"]


def test_what_no_seal_names_is_not_shown(home: SealedHome) -> None:
    before = [records(home, what) for what in ("messages", "state", "answer", "seal")]
    home.events.append((2, "north", "z"))
    home.run(2, 3, revise="an orphan", seal=())
    assert [records(home, what) for what in ("messages", "state", "answer", "seal")] == before


def test_a_site_whose_name_begins_with_an_at_sign_is_no_inner_node(tmp_path: Path) -> None:
    shop = SealedHome(tmp_path, monitors=[BUSIEST | {"tolerance": 0}])
    shop.land([(0, "@coordinator", "a"), (0, "plain", "b")])
    shop.run(0, 1)
    site = shop.command("inspect", "busiest", "--what", "state", "--site", "@coordinator").stdout
    centre = shop.command("inspect", "busiest", "--what", "state", "--node", "@coordinator").stdout
    assert "CachingSiteState" in site
    assert "CachingCoordinatorState" in centre


def test_the_text_is_bounded_and_json_is_whole(tmp_path: Path) -> None:
    shop = SealedHome(tmp_path, monitors=[BUSIEST | {"tolerance": 0}])
    odd = "\x1b[1m\n" + "y" * 10_000
    shop.land(
        [(0, f"site {number:03}", f"{letter}{odd}") for number in range(60) for letter in "abcdefghijklmnopqrstuvwxyz"]
    )
    shop.run(0, 1)
    text = shop.command("inspect", "busiest").stdout
    assert "busiest, epoch 2020-01-01, caching: 60 messages" in text
    assert f"… and {60 - MOST_RECORDS} more; --node or --site picks one, --json gives all" in text
    assert "names (26):" in text
    assert "… and 6 more" in text
    assert "\x1b" not in text
    assert len(text) < 400_000
    whole = json.loads(shop.command("inspect", "busiest", "--json").stdout)
    assert len(whole["records"]) == 60
    assert whole["records"][0]["content"]["names"][0] == "a" + odd


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--site", "nort"], "busiest had no node 'nort' in epoch 2020-01-01T02:00Z; did you mean 'north'?"),
        (["--node", "@tree/1/0"], "busiest had no node '@tree/1/0'"),
        (["--what", "stat"], "--what stat: unknown; did you mean 'state'?"),
        (["--method", "requery"], "busiest did not run 'requery' in epoch 2020-01-01T02:00Z; it ran caching, margins"),
        (["--site", "north", "--node", "north"], "--node and --site name the same thing twice"),
        (["--what", "seal", "--site", "north"], "a seal is of the whole epoch"),
    ],
)
def test_wrong_names_are_one_sentence_and_exit_code_2(home: SealedHome, arguments: list[str], sentence: str) -> None:
    done = home.command("inspect", "busiest", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_sites_storage_only_their_states_are_out_of_reach(home: SealedHome) -> None:
    shutil.rmtree(home.home / "var" / "sites")
    assert len(records(home, "messages")) == 1
    assert len(records(home, "state")) == 1
    with pytest.raises(StorageError, match="the sites' tables are not there"):
        records(home, "state", node="south")


def test_an_unknown_node_among_many_is_answered_with_a_few_names(tmp_path: Path) -> None:
    shop = SealedHome(tmp_path)
    shop.land([(0, f"{number:04}", "a") for number in range(500)])
    shop.run(0, 1)
    with pytest.raises(UsageError) as caught:
        records(shop, "state", node="zzz")
    assert len(str(caught.value)) < 200
