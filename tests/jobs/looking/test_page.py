"""`farwatch report`: one file that holds everything, shows what is sealed, and never makes markup out of data."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deltalake import DeltaTable

from jobs.looking.page.content import content
from jobs.looking.page.coverage import OWED, SILENT
from jobs.looking.page.thinning import MOST_EPOCHS, most_epochs, shown_epochs
from jobs.verbs.audit import audit
from monitoring_lib.tables import DRAFTS
from tests.jobs.auditing.counting import counted_here
from tests.jobs.sealed_home import BUSIEST, SealedHome

EVIL = '</script><script>document.title="broken"</script><img src=x onerror="document.title=1">'
SOUTH = "<b>south</b>"
TITLE = "Busiest <i>items</i> & more"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> SealedHome:
    busiest = {**BUSIEST, "title": TITLE, "tolerance": 0, "method": "margins", "shadow": ["caching"]}
    distinct = {"name": "different", "question": "distinct-count", "source": "shop", "item": "item", "error": 0.1}
    never = {"name": "never", "question": "top-k", "source": "shop", "k": 1, "tolerance": 0}
    shop = SealedHome(tmp_path_factory.mktemp("shop"), monitors=(busiest, distinct, never))
    cells = [(hour, site) for hour in range(4) for site in ("north", SOUTH) if (hour, site) != (3, SOUTH)]
    shop.land([(hour, site, item) for hour, site in cells for item in (EVIL, "plain")])
    asked = ["busiest", "different"]
    shop.run(0, 2, only=asked)
    with counted_here():
        audit(shop.context(), "shop")
    shop.run(2, 4, missing={SOUTH: "silent"}, only=asked)
    shop.run(3, 4, missing={SOUTH: "silent"}, only=["busiest"], revise="tried <again>")
    return shop


@pytest.fixture(scope="module")
def page(home: SealedHome) -> str:
    out = home.home / "report.html"
    done = home.command("report", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "3 monitors" in done.stdout
    return out.read_text("utf-8")


def opened(page: str) -> dict[str, Any]:
    """What the page opens with."""
    [found] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    read: dict[str, Any] = json.loads(found)
    return read


def detail(page: str, monitor: str) -> dict[str, Any]:
    """What the page of one monitor shows."""
    number = opened(page)["packed"].index(monitor)
    [packed] = re.findall(rf'<script type="text/plain" data-monitor="{number}">(.*?)</script>', page)
    read: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return read


def test_the_overview_says_how_every_monitor_stands(page: str) -> None:
    monitors = {one["name"]: one for one in opened(page)["monitors"]}
    busiest = monitors["busiest"]
    assert (busiest["title"], busiest["asks"]) == (TITLE, "Which items come first over all sites?")
    assert (busiest["now"]["sites"], busiest["now"]["missing_sites"]) == (2, ["<b>south</b>"])
    assert [row["key"] for row in busiest["now"]["answers"]] == [EVIL, "plain"]
    assert busiest["now"]["audited"] == {"up_to": "2020-01-01T01:00Z", "epochs": 2, "kept": 2}
    assert busiest["age_seconds"] > 0
    assert len(busiest["traffic"]["bytes"]) == len(busiest["traffic"]["shipping"]) == 4
    assert monitors["different"]["shape"] == "number"
    assert monitors["never"]["now"] is None


def test_the_page_of_a_monitor_shows_what_is_sealed(page: str) -> None:
    busiest = detail(page, "busiest")
    assert busiest["epochs"] == ["2020-01-01", "2020-01-01T01:00Z", "2020-01-01T02:00Z", "2020-01-01T03:00Z"]
    series = {one["key"]: one for one in busiest["answer"]["series"]}
    assert series["plain"]["estimate"] == [2.0, 4.0, 5.0, 5.0]
    assert series["plain"]["exact"] == [2.0, 4.0, None, None]
    assert busiest["coverage"]["sites"] == ["<b>south</b>", "north"]
    assert busiest["coverage"]["missing"] == [[2, 0, OWED], [3, 0, SILENT]]
    assert busiest["coverage"]["revised"] == [{"at": 3, "revision": 1, "reason": "tried <again>"}]
    assert busiest["verdicts"]["at"] == [0, 1]
    assert busiest["verdicts"]["kept"] == busiest["verdicts"]["of"]
    assert list(busiest["traffic"]["methods"]) == ["margins", "caching"]
    assert {row["method"] for row in busiest["traffic"]["kinds"]} == {"margins", "caching"}


def test_the_certificate_is_told_in_words(page: str) -> None:
    why = {one["about"]: one["text"] for one in detail(page, "busiest")["valid"]}
    assert "1 of 2 sites took part in the epoch." in why["who took part"]
    assert "message" in why["what was exchanged"] or "No node had" in why["what was exchanged"]
    assert "no item outside the list exceeds 5, and none in it lies below 5" in why["the proof"]
    assert "kept in 2 of 2 epochs" in why["what the audit found"]
    assert "the chain has 4 epochs" in why["what is sealed"]


def test_nothing_of_the_data_is_markup(page: str) -> None:
    assert EVIL not in page
    assert TITLE not in page
    assert SOUTH not in page
    assert len(re.findall(r"<script\b", page.split('id="data">', maxsplit=1)[0])) == 1
    assert re.findall(r"<script type=\"text/plain\"[^>]*>[^A-Za-z0-9+/=]", page) == [], "packed parts hold no markup"


def test_it_loads_nothing_from_anywhere(page: str) -> None:
    own = re.sub(r'<script type="text/plain".*?</script>', "", page)
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", own)
    assert "default-src 'none'" in page
    assert len(page) < 8_000_000


def test_a_monitor_can_be_asked_for_alone_and_an_unknown_one_is_named(home: SealedHome) -> None:
    out = home.home / "one.html"
    assert home.command("report", "--out", str(out), "--monitors", "different").returncode == 0
    assert [one["name"] for one in opened(out.read_text("utf-8"))["monitors"]] == ["different"]
    wrong = home.command("report", "--out", str(out), "--monitors", "diferent")
    assert wrong.returncode == 2
    assert "did you mean 'different'?" in wrong.stderr


def test_a_page_that_cannot_be_written_is_an_error_by_name(home: SealedHome) -> None:
    done = home.command("report", "--out", str(home.home / "nowhere" / "report.html"))
    assert done.returncode in (2, 3)
    assert "the page cannot be written there" in done.stderr


def test_damage_of_one_monitor_is_told_and_the_others_are_shown(home: SealedHome, tmp_path: Path) -> None:
    shutil.copytree(home.home, tmp_path / "home")
    spoilt = replace(home, home=tmp_path / "home")
    drafts = spoilt.context().lake.centre.location(DRAFTS)
    DeltaTable(drafts).delete("monitor = 'different'")
    shown = content(spoilt.context()).overview
    monitors = {one["name"]: one for one in shown["monitors"]}
    assert "`farwatch" in monitors["different"]["trouble"]
    assert monitors["busiest"]["now"]["epoch_start"] == "2020-01-01T03:00Z"


@pytest.mark.parametrize("count", [1, MOST_EPOCHS, MOST_EPOCHS + 1, 10_000])
def test_a_long_chain_is_thinned_from_its_far_end(count: int) -> None:
    starts = np.arange(count, dtype=np.int64)
    shown = shown_epochs(starts)
    assert len(shown) <= MOST_EPOCHS
    assert (shown[0], shown[-1]) == (0, count - 1)
    assert (np.diff(shown) > 0).all()
    assert set(starts[-200:]) <= set(shown)


@pytest.mark.parametrize(("monitors", "most"), [(0, MOST_EPOCHS), (14, MOST_EPOCHS), (100, 240), (10_000, 60)])
def test_many_monitors_share_the_room_of_the_page(monitors: int, most: int) -> None:
    assert most_epochs(monitors) == most
    assert len(shown_epochs(np.arange(10_000, dtype=np.int64), most)) <= most


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium on this machine")
@pytest.mark.parametrize("place", ["", "#monitor/busiest", "#monitor/different", "#monitor/never"])
def test_a_browser_shows_it_as_text(home: SealedHome, page: str, place: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom",
         "--virtual-time-budget=10000", f"file://{home.home / 'report.html'}{place}"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    shown = done.stdout.partition('id="main"')[2].partition('id="data"')[0]
    assert "<title>Farwatch</title>" in done.stdout
    assert ("Busiest &lt;i&gt;items&lt;/i&gt; &amp; more" in shown) == (place in ("", "#monitor/busiest"))
    assert "<i>items" not in shown
    assert "onerror=" not in re.sub(r"&lt;.*?&gt;", "", shown).replace("&quot;", "") or "&lt;img" in shown
    if place == "#monitor/busiest":
        assert "main-svg" in shown, "the charts are drawn"
