"""`farwatch report`: writes the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jobs.epoch.context import Context
from jobs.looking import printing
from jobs.looking.page.content import content
from jobs.looking.page.document import document
from jobs.terminal.wording import counted, size
from monitoring_lib.errors import StorageError


def run(out: Path, only: Sequence[str] = ()) -> None:
    context = Context.from_environment()
    for name in only:
        context.config.monitor(name)  # an unknown one is named with what is like it
    found = content(context, only)
    page = document(found)
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{out}: the page cannot be written there ({error.strerror})") from error
    printing.line(
        f"wrote {out}, {size(len(page))}, {counted(len(found.overview['monitors']), 'monitor')}; open it in a browser"
    )
