"""`farwatch report`: one file that holds everything, shows what is sealed, and never makes markup out of data."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jobs.looking.page.thinning import MOST_EPOCHS, shown_epochs
from tests.jobs.sealed_home import BUSIEST, SealedHome

EVIL = '</script><script>document.title="broken"</script><img src=x onerror="document.title=1">'
TITLE = "Busiest <i>items</i> & more"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> SealedHome:
    distinct = {"name": "different", "question": "distinct-count", "source": "shop", "item": "item", "error": 0.1}
    never = {"name": "never", "question": "top-k", "source": "shop", "k": 1, "tolerance": 0}
    shop = SealedHome(
        tmp_path_factory.mktemp("shop"), monitors=({**BUSIEST, "title": TITLE, "tolerance": 0}, distinct, never)
    )
    shop.land(
        [(hour, site, item) for hour in range(4) for site in ("north", "<b>south</b>") for item in (EVIL, "plain")]
    )
    shop.run(0, 2, only=["busiest", "different"])
    shop.run(2, 4, missing={"<b>south</b>": "silent"}, only=["busiest", "different"])
    return shop


@pytest.fixture(scope="module")
def page(home: SealedHome) -> str:
    out = home.home / "report.html"
    done = home.command("report", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "3 monitors" in done.stdout
    return out.read_text("utf-8")


def content(page: str) -> dict[str, Any]:
    [found] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    read: dict[str, Any] = json.loads(found)
    return read


def test_what_is_sealed_is_in_it(page: str) -> None:
    monitors = {one["name"]: one for one in content(page)["monitors"]}
    busiest = monitors["busiest"]
    assert busiest["title"] == TITLE
    assert busiest["epochs"] == ["2020-01-01", "2020-01-01T01:00Z", "2020-01-01T02:00Z", "2020-01-01T03:00Z"]
    series = {one["key"]: one for one in busiest["series"]}
    assert series["plain"]["estimate"] == [2.0, 4.0, 5.0, 6.0]
    assert busiest["coverage"]["sites"] == ["<b>south</b>"]
    assert busiest["coverage"]["missing"] == [[2, 0], [3, 0]]
    assert len(busiest["traffic"]["bytes"]) == len(busiest["traffic"]["shipping"]) == 4
    assert monitors["different"]["shape"] == "number"
    assert monitors["never"]["now"] is None


def test_nothing_of_the_data_is_markup(page: str) -> None:
    assert EVIL not in page
    assert TITLE not in page
    assert "<b>south</b>" not in page
    assert len(re.findall(r"<script\b", page.split('id="data">', maxsplit=1)[0])) == 1


def test_it_loads_nothing_from_anywhere(page: str) -> None:
    own = page.split("<script>", 1)[0] + page.rsplit("<script>", 1)[1]
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", own)
    assert "default-src 'none'" in page
    assert len(page) < 8_000_000


def test_a_monitor_can_be_asked_for_alone_and_an_unknown_one_is_named(home: SealedHome) -> None:
    out = home.home / "one.html"
    assert home.command("report", "--out", str(out), "--monitors", "different").returncode == 0
    assert [one["name"] for one in content(out.read_text("utf-8"))["monitors"]] == ["different"]
    wrong = home.command("report", "--out", str(out), "--monitors", "diferent")
    assert wrong.returncode == 2
    assert "did you mean 'different'?" in wrong.stderr


def test_a_page_that_cannot_be_written_is_an_error_by_name(home: SealedHome) -> None:
    done = home.command("report", "--out", str(home.home / "nowhere" / "report.html"))
    assert done.returncode in (2, 3)
    assert "the page cannot be written there" in done.stderr


@pytest.mark.parametrize("count", [1, MOST_EPOCHS, MOST_EPOCHS + 1, 10_000])
def test_a_long_chain_is_thinned_from_its_far_end(count: int) -> None:
    starts = np.arange(count, dtype=np.int64)
    shown = shown_epochs(starts)
    assert len(shown) <= MOST_EPOCHS
    assert (shown[0], shown[-1]) == (0, count - 1)
    assert (np.diff(shown) > 0).all()
    assert set(starts[-200:]) <= set(shown)


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
