"""Writes docs/tables.md from the declarations of the tables: `python -m tools.tables`, `--check` only compares."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from monitoring_lib.tables import TABLES, Table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tables.md"
_HEAD = """# Tables

Every Delta table with its columns. `python -m tools.tables` makes this page from the declarations in
`monitoring_lib/tables`; the descriptions are also comments of the Delta tables.

The sites' tables are written by Spark, the coordinator's by `deltalake`; both can be read with any tool. Readers
ignore rows that no seal in `epochs` lists: `farwatch query --sql` shows only what is sealed.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(line for table in TABLES.values() for line in _table(table))])


def _table(table: Table) -> Iterator[str]:
    yield f"## {table.name}"
    yield ""
    yield table.description
    yield ""
    where = "the sites" if table.at_sites else "the coordinator"
    by_day = f", partitioned by `{table.partition}`" if table.partition else ""
    key = ", ".join(f"`{name}`" for name in table.key)
    yield f"Kept by {where}{by_day}. A row among those of one write is identified by {key}."
    yield ""
    yield "| column | type | meaning |"
    yield "|---|---|---|"
    for name, column in table.columns.items():
        null = ", may be null" if column.nullable else ""
        yield f"| `{name}` | {column.kind}{null} | {table.describe(name)} |"
    yield ""


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
        if not current:
            print(f"{PAGE.name} is not what the declarations say; run `python -m tools.tables`", file=sys.stderr)
        return 0 if current else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
