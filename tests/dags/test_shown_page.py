"""A visitor of the page inside Airflow is answered at once, and sees the page as soon as it is made."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from farwatch_airflow import shown_page
from farwatch_airflow.shown_page import ShownPage


class Maker:
    """Makes pages when it is allowed to, or fails."""

    def __init__(self) -> None:
        self.allowed = threading.Event()
        self.made = 0
        self.error: Exception | None = None

    def __call__(self) -> str:
        assert self.allowed.wait(30)
        self.made += 1
        if self.error is not None:
            raise self.error
        return f"page {self.made}"


def eventually(look: Callable[[], str | None]) -> str:
    deadline = time.monotonic() + 30
    while (found := look()) is None:
        assert time.monotonic() < deadline
    return found


def test_visitors_are_not_kept_waiting_and_share_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_page, "PATIENCE", 0.01)
    make = Maker()
    shown = ShownPage(make)
    assert [shown.look() for _ in range(3)] == [None] * 3
    make.allowed.set()
    assert eventually(shown.look) == "page 1"
    assert shown.look() == "page 1"


def test_a_page_is_made_anew_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_page, "FRESH", -1.0)
    make = Maker()
    make.allowed.set()
    shown = ShownPage(make)
    seen = [eventually(shown.look) for _ in range(3)]
    assert seen == sorted(set(seen))


def test_a_failure_is_told_once_and_then_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_page, "PATIENCE", 0.01)
    make = Maker()
    make.error = RuntimeError("no storage")
    shown = ShownPage(make)
    assert shown.look() is None
    make.allowed.set()
    with pytest.raises(RuntimeError, match="no storage"):
        eventually(shown.look)
    make.error = None
    assert eventually(shown.look) == "page 2"
