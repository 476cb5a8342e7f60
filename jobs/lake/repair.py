"""Tables whose log names what is gone: the log is put right, so that the rest of the table can be read again."""

from __future__ import annotations

import itertools
import zlib
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from jobs.lake.store import Store
from jobs.lake.trouble import trouble
from monitoring_lib.errors import DamagedTable
from monitoring_lib.tables import Table


def repair(store: Store, table: Table) -> list[str]:
    """Takes files that are gone out of the table's log, and checksums that do not fit; what was done, in words.

    The rows in them are lost. Whoever reads them is told so by the digests of their seals. A table whose log itself is
    gone is put aside as it is, and begins anew.
    """
    root = store.location(table)
    done = [*_forget_checkpoint(Path(root)), *_forget_checksums(Path(root))] if "://" not in root else []
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


def _forget_checksums(root: Path) -> list[str]:
    """Hadoop keeps `.NAME.crc` beside a file of the log. Left over from a commit that is lost, it refuses the next."""
    done = []
    for checksum in sorted((root / "_delta_log").glob(".*.crc")):
        file = checksum.with_name(checksum.name.removeprefix(".").removesuffix(".crc"))
        if not file.exists() or checksum.read_bytes() != _checksum_of(file.read_bytes(), checksum.read_bytes()):
            checksum.unlink()
            done.append(f"{root.name}: {checksum.name} was of another file, and is removed")
    return done


def _checksum_of(content: bytes, like: bytes) -> bytes:
    """As Hadoop writes it: a mark, the size of a piece, the CRC-32 of each piece."""
    size = int.from_bytes(like[4:8], "big") or len(content) or 1
    pieces = (content[at : at + size] for at in range(0, len(content), size))
    return like[:8] + b"".join(zlib.crc32(piece).to_bytes(4, "big") for piece in pieces)
