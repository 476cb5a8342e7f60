"""Tables whose log names what is gone: the log is put right, so that the rest of the table can be read again."""

from __future__ import annotations

import itertools
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from jobs.lake.store import Store
from jobs.lake.trouble import trouble
from monitoring_lib.errors import DamagedTable
from monitoring_lib.tables import Table


def repair(store: Store, table: Table) -> list[str]:
    """Takes files that are gone out of the table's log; what was done, in words.

    The rows in them are lost. Whoever reads them is told so by the digests of their seals. A table whose log itself is
    gone is put aside as it is, and begins anew.
    """
    root = store.location(table)
    done = _forget_checkpoint(Path(root)) if "://" not in root else []
    try:
        found = DeltaTable(root, storage_options=store.options).repair()
    except TableNotFoundError:
        return done
    except (DeltaError, OSError) as error:
        told = trouble(root, "repaired", error)
        if not isinstance(told, DamagedTable) or "://" in root:
            raise told from error
        return [*done, _put_aside(Path(root))]
    return [*done, *(f"{table.name}: {file} is gone, and out of the log" for file in found["files_removed"])]


def _put_aside(root: Path) -> str:
    aside = next(
        path for number in itertools.count(1) if not (path := root.with_name(f"{root.name}.damaged-{number}")).exists()
    )
    root.rename(aside)
    return f"{root.name}: its log cannot be read; the table is put aside as {aside}, and begins anew"


def _forget_checkpoint(root: Path) -> list[str]:
    """A checkpoint that is gone is not needed where the log holds every commit."""
    log = root / "_delta_log"
    hint = log / "_last_checkpoint"
    whole = (log / f"{0:020}.json").exists()
    if not whole or not hint.exists() or list(log.glob("*.checkpoint*.parquet")):
        return []
    hint.unlink()
    return [f"{root.name}: its checkpoint is gone; the log is whole, and is read instead"]
