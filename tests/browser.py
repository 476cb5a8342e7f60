"""Chromium without a window, for the tests that look at pages. They are skipped where it, or its driver, is absent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--window-size=1500,1600",
)  # fmt: skip
NO_BROWSER = "" if CHROMIUM and DRIVER else "there is no Chromium with its driver on this machine"
LONGEST_PAINT = 60
SHOWN = """
new MutationObserver((changes, observer) => {
  if (!document.querySelector("SELECTOR")) return;
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.shownAt = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""
"""Notes when an element has been painted, in milliseconds since the page was asked for."""
needs_browser = pytest.mark.skipif(bool(NO_BROWSER), reason=NO_BROWSER)


@contextmanager
def chromium() -> Iterator[webdriver.Chrome]:
    """A browser that remembers nothing, and keeps what pages write to its console."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def make_wide(driver: webdriver.Chrome, pixels: int, height: int = 1200) -> None:
    """Gives pages exactly this width: a window has a least width that is larger than a telephone's."""
    size = {"width": pixels, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def console(driver: webdriver.Chrome) -> list[str]:
    """What pages have written to the console since it was last asked for; errors of scripts among it."""
    return [f"{entry['level']}: {entry['message']}" for entry in driver.get_log("browser")]


def first_paints(driver: webdriver.Chrome, address: str, selector: str, times: int = 3) -> list[float]:
    """Milliseconds from asking for a page until an element of it is painted, each time that it is loaded."""
    driver.get("about:blank")
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": SHOWN.replace("SELECTOR", selector)})
    took = []
    for _ in range(times):
        driver.get(address)
        wait = WebDriverWait(driver, LONGEST_PAINT, 0.02)
        took.append(float(wait.until(lambda driver: driver.execute_script("return window.shownAt"))))
    return took
