"""`farwatch quality`: the last results by site, and the same as static pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.jobs.sealed_home import SealedHome, bought


@pytest.fixture
def home(tmp_path: Path) -> SealedHome:
    shop = SealedHome(tmp_path)
    shop.land([event for hour in range(2) for event in bought(hour, north="aab", south="cd")])
    shop.run(0, 1)
    shop.run(1, 2, missing={"south": "silent <for> 2 epochs"})
    return shop


def test_the_last_results_are_told_by_site(home: SealedHome) -> None:
    shown = home.command("quality", "shop").stdout
    assert "shop: checks of epoch 2020-01-01T01:00Z" in shown
    assert "site 'south': site is fresh does not hold: silent <for> 2 epochs" in shown
    [failed] = json.loads(home.command("quality", "shop", "--json").stdout)["failed"]
    assert (failed["site"], failed["severity"]) == ("south", "critical")
    assert "none failed" in home.command("quality", "shop", "--epoch", "2020-01-01").stdout


def test_data_docs_are_static_pages(home: SealedHome, tmp_path: Path) -> None:
    done = home.command("quality", "shop", "--docs", str(tmp_path / "docs"))
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "docs" / "shop.html").read_text(encoding="utf-8")
    assert 'href="shop-2020-01-01T0100Z.html"' in index
    assert "Great Expectations" in (tmp_path / "docs" / "shop-2020-01-01T0100Z.html").read_text(encoding="utf-8")
