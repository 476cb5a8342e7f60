"""The page as one HTML file: style, script, the charts' library and the content are inside; it loads nothing."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from jobs.looking import printing


def document(content: dict[str, Any]) -> str:
    """Nothing out of the data becomes markup: it travels as JSON in which no `<` is left, and is shown as text."""
    folder = files("jobs.looking.page")
    html, style, script = (folder.joinpath(name).read_text("utf-8") for name in ("page.html", "page.css", "page.js"))
    data = json.dumps(printing.plain(content), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    parts = {
        "<!-- style -->": f"<style>{style}</style>",
        "<!-- data -->": f'<script type="application/json" id="data">{_harmless(data)}</script>',
        "<!-- charts -->": f"<script>{_charts()}</script>",
        "<!-- script -->": f"<script>{script}</script>",
    }
    for mark, part in parts.items():
        before, after = html.split(mark)
        html = before + part + after
    return html


def _harmless(data: str) -> str:
    """JSON reads the escapes back; HTML sees neither a tag nor the end of the script in it."""
    return data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _charts() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).replace("</script", "<\\/script")
