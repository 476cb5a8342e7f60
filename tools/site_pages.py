"""Pages of the site that stand beside the folder docs: README (the first page), CONTRIBUTING and CHANGELOG."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.structure.files import File  # only `make docs` has it

    root = Path(config.config_file_path).parent
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=site_text((root / name).read_text("utf-8"))))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    return site_text(markdown)


def site_text(text: str) -> str:
    """With links that lead to pages of the site; one that leads to code names the file instead."""

    def link(found: re.Match[str]) -> str:
        words, target = found[1], found[2].removeprefix("../")
        path, separator, anchor = target.partition("#")
        page = PAGES.get(path, path.removeprefix("docs/"))
        if "/" not in page and Path(page).suffix in (".md", ".svg", ".png"):
            return f"[{words}]({page}{separator}{anchor})"
        return f"{words} (`{path}`)" if words != path else f"`{path}`"

    return _LINK.sub(link, text)
