"""A person at Airflow's pages: Chromium without a window, which types and clicks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import expected_conditions as until
from selenium.webdriver.support.wait import WebDriverWait

from jobs.local.servers.airflow_server import USER
from tests.browser import chromium

LONGEST = 60
"""Seconds within which a page has to show what it is asked for."""


class Person:
    """Whoever is logged in."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self.driver, self.url = driver, url

    def open(self, path: str) -> None:
        self.driver.get(self.url + path)

    def find(self, selector: str, which: int = 0) -> WebElement:
        """The element, once it can be clicked."""
        wait = WebDriverWait(self.driver, LONGEST)
        found = wait.until(lambda driver: (all_ := driver.find_elements(By.CSS_SELECTOR, selector))[which:] and all_)
        return wait.until(until.element_to_be_clickable(found[which]))

    def click(self, selector: str, which: int = 0) -> None:
        self.find(selector, which).click()

    def choose(self, value: str) -> None:
        """A radio button, which lies hidden under its picture."""
        wait = WebDriverWait(self.driver, LONGEST)
        button = wait.until(until.presence_of_element_located((By.CSS_SELECTOR, f"input[value={value}]")))
        self.driver.execute_script("arguments[0].click()", button)

    def press(self, label: str) -> None:
        """The button with this label."""
        wait = WebDriverWait(self.driver, LONGEST)
        wait.until(until.element_to_be_clickable((By.XPATH, f"//button[normalize-space()='{label}']"))).click()

    def pick_time(self, time: datetime, which: int) -> None:
        """Into the `which`-th of the form's fields for a date and a time."""
        self.click("[data-testid=datetime-input]", which)
        for hint, text in (("YYYY/MM/DD", f"{time:%Y/%m/%d}"), ("HH:mm", f"{time:%H:%M}")):
            field = self.find(f"input[placeholder='{hint}']")
            field.send_keys(Keys.CONTROL, "a")
            field.send_keys(text, Keys.TAB)
        self.driver.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)

    def reads(self, text: str) -> None:
        """Waits until the page shows a text."""
        WebDriverWait(self.driver, LONGEST).until(until.text_to_be_present_in_element((By.TAG_NAME, "body"), text))


@contextmanager
def at_airflow(url: str, password: str) -> Iterator[Person]:
    with chromium() as driver:
        person = Person(driver, url)
        person.open("/")
        person.find("input[name=username]").send_keys(USER)
        person.find("input[name=password]").send_keys(password)
        person.click("button[type=submit]")
        person.find("a[href$='/dags']")
        yield person
