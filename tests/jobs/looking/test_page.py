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

from jobs.looking.page.content import PageContent, content
from jobs.looking.page.coverage import OWED, SILENT
from jobs.looking.page.document import document
from jobs.looking.page.series import MOST_KEYS
from jobs.looking.page.thinning import MOST_EPOCHS, most_epochs, shown_epochs
from jobs.verbs.audit import audit
from monitoring_lib.tables import DRAFTS, VERDICTS
from tests.jobs.auditing.counting import counted_here
from tests.jobs.sealed_home import BUSIEST, SealedHome

EVIL = '</script><script>document.title="broken"</script><img src=x onerror="document.title=1">'
SOUTH = "<b>south</b>"
TITLE = "Busiest <i>items</i> & more"
RUN = "manual__2020-01-01T04:00:00+00:00"


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
        audit(shop.context(), "shop")
    shop.run(2, 4, missing={SOUTH: "silent"}, only=asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_CTX_DAG_ID", "epochs-shop")
        patch.setenv("AIRFLOW_CTX_DAG_RUN_ID", RUN)
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


def test_verdicts_of_an_epoch_that_was_audited_twice_count_once(home: SealedHome, page: str) -> None:
    read = home.context().lake.centre.read(VERDICTS, [("monitor", "=", "busiest")]).to_pylist()
    once = {(row["epoch_start"], row["promise"], row["key"]) for row in read}
    assert len(read) == 2 * len(once) > 0
    found = detail(page, "busiest")["verdicts"]
    assert sum(found["of"]) == sum(one["of"] for one in found["promises"]) == len(once)


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


def test_seals_name_the_run_of_airflow_that_they_come_from_and_their_digests_do_not(
    home: SealedHome, page: str
) -> None:
    runs = {(one["monitor"], one["epoch_start"], one["revision"]): one["run"] for one in opened(page)["runs"]}
    assert runs.pop(("busiest", "2020-01-01T03:00Z", 1)) == f"epochs-shop/{RUN}"
    assert set(runs.values()) == {""}
    for seal in home.context().lake.ledger.seals("shop", "busiest"):
        assert replace(seal, run="another/run").digest == seal.digest


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


@pytest.mark.parametrize(("monitors", "most"), [(0, MOST_EPOCHS), (14, MOST_EPOCHS), (100, 96), (10_000, 60)])
def test_many_monitors_share_the_room_of_the_page(monitors: int, most: int) -> None:
    assert most_epochs(monitors) == most
    assert len(shown_epochs(np.arange(10_000, dtype=np.int64), most)) <= most


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium on this machine")
@pytest.mark.parametrize("place", ["", "#monitor/busiest"])
def test_a_browser_shows_it_as_text(home: SealedHome, page: str, place: str, tmp_path: Path) -> None:
    shown = in_browser(home.home / "report.html", tmp_path, place=place)
    body = shown.partition('id="main"')[2].partition('id="data"')[0]
    assert "<title>Farwatch</title>" in shown
    assert "Busiest &lt;i&gt;items&lt;/i&gt; &amp; more" in body
    assert "<i>items" not in body
    assert "<img" not in body
    if place:
        assert "main-svg" in body, "the charts are drawn"
        assert "Why this answer is valid" in body


USED = """
<script>
const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const rows = () => document.querySelectorAll("#main .cards tbody tr").length;
const note = (name, value) => document.documentElement.setAttribute(`data-${name}`, value);
addEventListener("error", (event) => note("error", event.message));
addEventListener("load", async () => {
  note("all", rows());
  const words = document.getElementById("words");
  press("/"); note("focus", document.activeElement.id);
  words.value = "different"; words.dispatchEvent(new Event("input", { bubbles: true })); note("filtered", rows());
  document.getElementById("clear").click(); await wait(50); note("cleared", rows());
  words.blur(); const before = document.documentElement.dataset.theme; press("d");
  note("turned", before !== document.documentElement.dataset.theme);
  for (const part of ["alerts", "quality", "runs"]) {
    location.hash = part; await wait(50); note(part, document.querySelector("#main h2").textContent);
  }
  location.hash = ""; await wait(50); press("j");
  while (!document.querySelector("#main details")) await wait(10);
  note("next", location.hash);
  document.querySelector("#main details summary").click(); await wait(50);
  note("table", document.querySelectorAll("#main details[open]").length);
  press("o"); await wait(50); note("back", location.hash);
});
</script>
"""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium on this machine")
def test_clicks_and_keys_do_what_they_say(page: str, tmp_path: Path) -> None:
    used = tmp_path / "used.html"
    used.write_text(page, encoding="utf-8")
    html = in_browser(used, tmp_path / "profile", USED).partition("<html")[2].partition(">")[0]
    found = dict(re.findall(r'data-(\w+)="([^"]*)"', html))
    assert "error" not in found
    assert (found["all"], found["filtered"], found["cleared"], found["focus"]) == ("3", "1", "3", "words")
    assert (found["alerts"], found["quality"], found["runs"]) == ("Alerts", "Failed checks", "Runs")
    assert (found["turned"], found["next"], found["table"], found["back"]) == ("true", "#monitor/busiest", "1", "")


def test_forty_long_chains_fit_and_the_overview_stands_before_them(home: SealedHome) -> None:
    found = content(home.context())
    [busiest] = [one for one in found.overview["monitors"] if one["name"] == "busiest"]
    drawn, epochs = np.random.default_rng(1), most_epochs(40)
    series = [
        {"key": f"item {key}", "at": list(range(epochs)), "partial": []}
        | {name: drawn.random(epochs).round(6).tolist() for name in ("estimate", "low", "high", "rank", "exact")}
        for key in range(MOST_KEYS)
    ]  # fmt: skip
    detail = found.details["busiest"]
    many = [busiest | {"name": f"busiest-{at}", "sealed": 10_000} for at in range(40)]
    large = detail | {"answer": detail["answer"] | {"series": series}}
    page = document(PageContent(found.overview | {"monitors": many}, {one["name"]: large for one in many}))
    assert len(page) < 8_000_000
    overview, script, first = (page.index(text) for text in ('id="data"', "function overview()", 'data-monitor="0">'))
    assert overview < script < first < page.index('id="charts"'), "a browser paints it before it has read the rest"


DRAWN = """
<script>const beat = () => { if (!document.querySelector(".main-svg")) setTimeout(beat, 10); }; beat();</script>
"""
"""Time that passes in steps: where a page waits for none, the browser would not wait until it has unpacked a chart."""


def in_browser(page: Path, folder: Path, script: str = "", place: str = "") -> str:
    """The document once the page, with a script of ours, has done its work."""
    folder.mkdir(exist_ok=True)
    copy = folder / "page.html"
    copy.write_text(page.read_text("utf-8").replace("</body>", f"{script}{DRAWN}</body>"), encoding="utf-8")
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
         "--dump-dom", "--virtual-time-budget=60000", f"file://{copy}{place}"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return done.stdout
