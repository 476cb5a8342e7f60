"""The page over a deployment that asks every question, as a person sees it: sizes, themes, keys, the first paint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from jobs.looking.page.content import PageContent, content
from jobs.looking.page.document import document
from jobs.looking.page.series import MOST_KEYS
from jobs.looking.page.thinning import most_epochs, shown_epochs
from jobs.simulation.generate import generate
from tests.browser import chromium, console, first_paints, make_wide, needs_browser
from tests.jobs.pipeline.deployment import Deployment
from tests.jobs.pipeline.test_every_question import SOURCE, monitors

pytestmark = [pytest.mark.spark, pytest.mark.long, needs_browser]

SIZES = (400, 1000, 1600)
LISTS = ("", "alerts", "quality", "runs")
LONGEST = 60
READY = """
const wanted = location.hash.split("/")[1], head = document.querySelector("#main h2");
if (!head || (wanted ? head.textContent !== wanted : document.querySelector("#main .trail"))) return false;
return [...document.querySelectorAll("#main .chart")].every((one) => one.querySelector(".main-svg"));
"""
"""Whether the page shows what its address asks for; monitors without a title are called by their name."""
FAULTS = """
const found = [], root = document.documentElement, said = document.body.innerText;
if (root.scrollWidth > innerWidth) found.push(`it is ${root.scrollWidth} pixels wide`);
for (const word of ["NaN", "undefined", "[object", "Infinity"]) if (said.includes(word)) found.push(`it says ${word}`);
for (const one of document.querySelectorAll("#main .chart"))
  if (!one.data.some((trace) => (trace.x ?? trace.z).length)) found.push(`nothing is drawn: ${one.ariaLabel}`);
return found;
"""
FAINT = """
const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
const even = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * even(r / 255) + 0.7152 * even(g / 255) + 0.0722 * even(b / 255);
const ground = (one) => {
  for (; one; one = one.parentElement) {
    const found = parts(getComputedStyle(one).backgroundColor);
    if (found.length === 3 || found[3] > 0) return found;
  }
  return [255, 255, 255];
};
const found = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const text = walk.currentNode.textContent.trim(), one = walk.currentNode.parentElement;
  if (!text || !one.checkVisibility() || one.closest("script, style, .skip")) continue;
  const style = getComputedStyle(one), colour = one.namespaceURI.endsWith("svg") ? style.fill : style.color;
  const [a, b] = [light(parts(colour)), light(ground(one))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) found.add(`${text.slice(0, 30)}: ${colour} on ${ground(one)}`);
}
return [...found];
"""
"""Texts whose contrast with their ground is below the 4.5 to 1 that the WCAG ask for."""


@dataclass
class Reader:
    """Whoever looks at the page."""

    driver: webdriver.Chrome
    address: str

    def go(self, place: str) -> None:
        self.driver.execute_script("location.hash = arguments[0]", place)
        self.settle()

    def settle(self) -> None:
        """Waits until what was asked for is shown, charts included."""
        self.driver.execute_async_script("setTimeout(arguments[0], 0)")  # the page hears of it in a task of its own
        WebDriverWait(self.driver, LONGEST, 0.05).until(lambda driver: driver.execute_script(READY))

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()
        self.settle()

    def find(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def count(self, selector: str) -> int:
        return len(self.driver.find_elements(By.CSS_SELECTOR, selector))

    @property
    def place(self) -> str:
        return str(self.driver.execute_script("return location.hash.slice(1)"))


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory, spark_remote: str) -> Deployment:
    """Every question, one with a shadow; a site that is silent for an hour; audited, and one of them compared."""
    asked = [one | {"shadow": ["caching"] if one["name"] == "top-k" else []} for one in monitors(shadowed=False)]
    made = Deployment(tmp_path_factory.mktemp("deployed"), source=SOURCE, monitors=asked)
    generate("cdn", made.home / "data", seed=5, sites=12, hours=6, events_per_hour=1_000, items=300, corrupt=3)
    made.run(0, 6)
    for command in (["audit", "cdn"], ["plan", "top-k", "--keep"]):
        done = made.command(*command)
        assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.fixture(scope="module")
def reader(deployed: Deployment) -> Iterator[Reader]:
    page = deployed.home / "report.html"
    done = deployed.command("report", "--out", str(page))
    assert done.returncode == 0, done.stderr
    with chromium() as driver:
        driver.get(page.as_uri())
        yield Reader(driver, page.as_uri())


@pytest.fixture(scope="module")
def places(deployed: Deployment) -> list[str]:
    return [*LISTS, *(f"monitor/{one['name']}" for one in deployed.monitors)]


@pytest.mark.parametrize("pixels", SIZES)
def test_every_part_fits_draws_its_charts_and_writes_nothing_to_the_console(
    reader: Reader, places: list[str], pixels: int
) -> None:
    make_wide(reader.driver, pixels)
    found = {}
    for place in places:
        reader.go(place)
        found[place] = reader.driver.execute_script(FAULTS)
    assert {place: faults for place, faults in found.items() if faults} == {}
    assert console(reader.driver) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_can_be_read(reader: Reader, places: list[str], theme: str) -> None:
    reader.go("")
    if reader.find("html").get_attribute("data-theme") != theme:
        reader.press("d")
    assert reader.find("html").get_attribute("data-theme") == theme
    found = {}
    for place in places:
        reader.go(place)
        found[place] = reader.driver.execute_script(FAINT)
    assert {place: texts for place, texts in found.items() if texts} == {}


def test_keys_and_clicks_do_what_they_say(reader: Reader) -> None:
    make_wide(reader.driver, 1600)
    reader.go("")
    every = reader.count("#main .cards tbody tr")
    first = reader.find("#main .cards tbody a").get_attribute("hash").removeprefix("#")
    reader.press("j")
    assert reader.place == first
    reader.press("j")
    second = reader.place
    assert second.startswith("monitor/")
    assert second != first
    reader.press("k")
    assert reader.place == first
    reader.press("o")
    assert reader.place == ""
    reader.press("/")
    reader.press(*"distinct-quantiles")
    assert reader.count("#main .cards tbody tr") == 1
    reader.press(Keys.ESCAPE)
    reader.press("j")
    assert reader.place == "monitor/distinct-quantiles", "letters are keys again, and only what fits is gone through"
    reader.find("#clear").click()
    reader.press("o")
    assert reader.count("#main .cards tbody tr") == every
    for tab in ("Alerts", "Quality", "Runs", "Monitors"):
        reader.driver.find_element(By.LINK_TEXT, tab).click()
        reader.settle()
        assert reader.find("#tabs [aria-current]").text == tab
    reader.driver.find_element(By.LINK_TEXT, "aggregates").click()
    reader.settle()
    assert reader.place == "monitor/aggregates"
    reader.driver.find_element(By.XPATH, "//summary[.='Table']").click()
    reader.settle()
    assert reader.count("#main details[open] tbody tr") > 6, "a row for every tick and query"
    assert console(reader.driver) == []


def test_times_and_sites_are_filtered(reader: Reader) -> None:
    reader.go("monitor/top-k")
    fill = "const one = document.getElementById(arguments[0]); one.value = arguments[1];"
    fill += "one.dispatchEvent(new Event('input', { bubbles: true }));"
    drawn = "return document.querySelector('#main .chart').data[1].x"
    assert len(reader.driver.execute_script(drawn)) == 6
    for name, value in (("from", "2026-01-01T02:00"), ("to", "2026-01-01T04:00")):
        reader.driver.execute_script(fill, name, value)
    reader.settle()
    assert reader.driver.execute_script(drawn) == ["2026-01-01T02:00Z", "2026-01-01T03:00Z"]
    reader.find("#clear").click()
    reader.go("runs")
    assert reader.count("#main tbody tr") > 6


def test_the_overview_of_many_long_chains_is_painted_within_a_second(deployed: Deployment, tmp_path: Path) -> None:
    page = tmp_path / "long.html"
    page.write_text(document(lengthened(content(deployed.context()), 14, 10_000)), encoding="utf-8")
    assert page.stat().st_size < 8_000_000
    with chromium() as driver:
        took = first_paints(driver, page.as_uri(), "#main .cards tbody tr")
        assert console(driver) == []
    assert min(took) < 1_000, took


def lengthened(found: PageContent, monitors: int, epochs: int) -> PageContent:
    """As if every monitor had sealed so many epochs, with as many keys as a chart draws."""
    row = next(one for one in found.overview["monitors"] if one["name"] == "top-k")
    detail, most = found.details["top-k"], most_epochs(monitors)
    hours = shown_epochs(np.arange(epochs, dtype=np.int64), most).tolist()
    times = [f"{2020 + hour // 8760}-01-{1 + hour % 28:02d}T{hour % 24:02d}:00Z" for hour in hours]
    drawn = np.random.default_rng(1)
    series = [
        {"key": f"item {key}", "at": list(range(len(times))), "partial": []}
        | {name: drawn.random(len(times)).round(6).tolist() for name in ("estimate", "low", "high", "rank", "exact")}
        for key in range(MOST_KEYS)
    ]  # fmt: skip
    long = detail | {"epochs": times, "answer": {"times": times, "series": series, "keys": MOST_KEYS, "views": []}}
    many = [row | {"name": f"top-k-{at}", "sealed": epochs} for at in range(monitors)]
    return PageContent(found.overview | {"monitors": many}, {one["name"]: long for one in many})
