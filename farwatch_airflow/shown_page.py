"""The page as it was last made, and what a visitor sees while it is being made."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait

FRESH = 30.0
"""Seconds for which a page that was made is shown again: visitors who come together wait for one."""
PATIENCE = 1.0
"""Seconds that a visitor waits before being told that the page is being made."""
BEING_MADE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>Farwatch</title>
<style>body { font: 16px system-ui, sans-serif; margin: 3rem; }</style>
<p role="status">The page is being made from the sealed answers. This takes a few seconds.</p>
<script>setTimeout(() => location.reload(), 500)</script>
</html>
"""
"""It comes again by itself, with the same fragment: links from tasks name a monitor there."""


class ShownPage:
    """Made anew, for all visitors at once, when one comes and the last was made a while ago."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: Future[str] | None = None
        self._ended_at = math.inf

    def look(self) -> str | None:
        """The page, None while it is being made; what went wrong in making it is raised once."""
        with self._lock:
            if self._made is None or time.monotonic() - self._ended_at > FRESH:
                self._made, self._ended_at = Future(), math.inf
                # A daemon: a server that stops does not wait for a page that nobody will see.
                threading.Thread(target=self._fill, args=(self._made,), daemon=True).start()
            made = self._made
        wait([made], PATIENCE)
        if not made.done():
            return None
        if made.exception() is not None:
            with self._lock:
                if self._made is made:
                    self._made = None
        return made.result()

    def _fill(self, made: Future[str]) -> None:
        try:
            page = self._make()
        except Exception as error:
            self._ended_at = time.monotonic()
            made.set_exception(error)
        else:
            self._ended_at = time.monotonic()
            made.set_result(page)
