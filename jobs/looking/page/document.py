"""The page as one HTML file: style, script, the charts' library and the content are inside; it loads nothing.

What the page opens with travels as JSON. The pages of single monitors and the charts' library travel packed, and are
unpacked when somebody looks at them: so the first paint waits for neither.
"""

from __future__ import annotations

import base64
import gzip
import json
from importlib.resources import files
from typing import Any

from jobs.looking import printing
from jobs.looking.page.content import PageContent

SCRIPTS = ("dom", "words", "unpacking", "charts", "overview", "answer", "costs", "trust", "monitor", "lists", "main")
"""In the order in which they need each other."""


def document(found: PageContent) -> str:
    """Nothing out of the data becomes markup: it travels as JSON in which no `<` is left, and is shown as text."""
    folder = files("jobs.looking.page")
    html = folder.joinpath("page.html").read_text("utf-8")
    scripts = [folder.joinpath("scripts", f"{name}.js").read_text("utf-8") for name in SCRIPTS]
    details = [
        f'<script type="text/plain" data-monitor="{number}">{_packed(_json(found.details[name]))}</script>'
        for number, name in enumerate(found.details)
    ]
    overview = found.overview | {"packed": list(found.details)}
    parts = {
        "<!-- style -->": f"<style>{folder.joinpath('page.css').read_text('utf-8')}</style>",
        "<!-- data -->": f'<script type="application/json" id="data">{_harmless(_json(overview))}</script>',
        "<!-- script -->": "<script>(() => {\n" + "\n".join(['"use strict";', *scripts]) + "\n})();</script>",
        "<!-- details -->": "\n".join(details),
        "<!-- charts -->": f'<script type="text/plain" id="charts">{_packed(_charts())}</script>',
    }
    for placeholder, part in parts.items():
        before, after = html.split(placeholder)
        html = before + part + after
    return html


def _json(content: dict[str, Any]) -> str:
    return json.dumps(printing.plain(content), ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _harmless(data: str) -> str:
    """JSON reads the escapes back; HTML sees neither a tag nor the end of the script in it."""
    return data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _packed(text: str) -> str:
    """Letters, digits, `+`, `/` and `=` only. The same text gives the same bytes."""
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def _charts() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
