"""The documentation as a site: every page is in its menu, links lead to pages, and its packages are locked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from site_pages import PAGES, site_text

ROOT = Path(__file__).resolve().parents[2]
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def pages(part: Any) -> list[str]:
    if isinstance(part, str):
        return [part]
    return [page for one in (part.values() if isinstance(part, dict) else part) for page in pages(one)]


def locked(name: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for package, version in PINNED.findall((ROOT / name).read_text()):
        found.setdefault(canonicalize_name(package), set()).add(version)
    return found


def test_every_page_is_in_the_menu_once_and_a_broken_link_ends_the_build() -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    listed = pages(config["nav"])
    assert sorted(listed) == sorted([*PAGES.values(), *(path.name for path in (ROOT / "docs").glob("*.md"))])
    assert config["strict"] is True
    assert set(config["validation"]["links"].values()) == {"warn"}
    assert config["theme"]["font"] is False


def test_links_lead_to_pages_of_the_site() -> None:
    text = "[a](docs/topk.md#methods), ![b](docs/page.png), [c](../README.md), [d](x/y.md), [e](https://x.org), [f](#g)"
    expected = "[a](topk.md#methods), ![b](page.png), [c](index.md), d (`x/y.md`), [e](https://x.org), [f](#g)"
    assert site_text(text) == expected


def test_its_packages_are_locked_at_the_versions_of_the_others() -> None:
    own, others = locked("requirements-docs.lock"), locked("requirements.lock")
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    for wanted in map(Requirement, groups["docs"]):
        assert all(wanted.specifier.contains(version) for version in own[canonicalize_name(wanted.name)])
    assert all(versions <= others[name] for name, versions in own.items() if name in others)
    assert "mkdocs" not in others
