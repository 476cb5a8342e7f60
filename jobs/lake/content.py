"""Digests of content: what rows say, not when or by which write they were written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any

import msgpack

from monitoring_lib.epochs import to_microseconds
from monitoring_lib.tables import Table


def digest_rows(table: Table, rows: Iterable[Mapping[str, Any]]) -> str:
    """The same for the same rows in any order. Binary cells count by their SHA-256, so that a site's payload
    need not travel to be part of a digest."""
    content = table.content
    packed = sorted(msgpack.packb([_plain(row[name]) for name in content]) for row in rows)
    total = hashlib.sha256()
    for row in packed:
        total.update(len(row).to_bytes(4, "little"))
        total.update(row)
    return total.hexdigest()[:32]


def _plain(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return hashlib.sha256(cell).hexdigest()
    if isinstance(cell, datetime):
        return to_microseconds(cell)
    if isinstance(cell, date):
        return cell.toordinal()
    if isinstance(cell, Mapping):
        return sorted(cell.items())
    return cell
