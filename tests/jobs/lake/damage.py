"""Ways in which a Delta table comes to harm, done to its folder as a disk or a wrong copy would."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from monitoring_lib.tables import Table


def lose_newest_commit(folder: Path, table: Table) -> None:
    """As a copy that was taken one commit earlier."""
    newest = _commits(folder)[-1]
    assert len(_commits(folder)) > 1, f"{folder} has a single commit"
    newest.unlink()
    for pattern in (f"{newest.stem}*", f".{newest.stem}*"):  # with the checksums that Hadoop keeps beside it
        for left in (folder / "_delta_log").glob(pattern):
            left.unlink()


def lose_data_file(folder: Path, table: Table) -> None:
    """The file that the newest commit with data added."""
    for commit in reversed(_commits(folder)):
        added = [json.loads(line).get("add") for line in commit.read_text().splitlines()]
        paths = [one["path"] for one in added if one]
        if paths:
            (folder / paths[0]).unlink()
            return
    raise AssertionError(f"{folder} holds no data")


def lose_checkpoint(folder: Path, table: Table) -> None:
    """The table has a checkpoint, its log says so, and the file is gone."""
    DeltaTable(folder).create_checkpoint()
    [checkpoint] = (folder / "_delta_log").glob("*.checkpoint.parquet")
    checkpoint.unlink()


def lose_checkpoint_and_log(folder: Path, table: Table) -> None:
    """The same where the commits that the checkpoint stands for were cleaned away."""
    lose_checkpoint(folder, table)
    for commit in _commits(folder):
        commit.unlink()


def lose_table(folder: Path, table: Table) -> None:
    """The whole folder."""
    shutil.rmtree(folder)


def change_payload(folder: Path, table: Table) -> None:
    """A byte of the payloads of the newest epoch's rows, or a letter of their texts, is another."""
    rows = DeltaTable(folder).to_pyarrow_table().cast(table.schema)
    names = ("payload", "content", "key", "site", "item", "detail", "path", "digest")
    name = next(name for name in names if name in table.columns)
    newest = _newest(rows)
    cells = [_changed(cell) if hit else cell for cell, hit in zip(rows[name].to_pylist(), newest, strict=True)]
    changed = rows.set_column(rows.column_names.index(name), rows.schema.field(name), pa.array(cells, rows[name].type))
    write_deltalake(folder, changed, mode="overwrite", partition_by=[table.partition] if table.partition else None)


def _changed(cell: bytes | str | None) -> bytes | str:
    return bytes([cell[0] ^ 1]) + cell[1:] if isinstance(cell, bytes) else "?" + (cell or "")[1:]


def double_rows(folder: Path, table: Table) -> None:
    """Every row of the newest epoch is there twice."""
    rows = DeltaTable(folder).to_pyarrow_table().cast(table.schema)
    rows = rows.filter(pa.array(_newest(rows)))
    write_deltalake(folder, rows, mode="append", partition_by=[table.partition] if table.partition else None)


DAMAGES: dict[str, Callable[[Path, Table], None]] = {
    damage.__name__: damage
    for damage in (
        lose_newest_commit,
        lose_data_file,
        lose_checkpoint,
        lose_checkpoint_and_log,
        lose_table,
        change_payload,
        double_rows,
    )
}


def _commits(folder: Path) -> list[Path]:
    return sorted((folder / "_delta_log").glob("*.json"))


def _newest(rows: pa.Table) -> list[bool]:
    """Which rows are of the newest epoch; all where rows are of none."""
    if "epoch_start" not in rows.column_names:
        return [True] * rows.num_rows
    starts = rows["epoch_start"].to_pylist()
    return [start == max(starts) for start in starts]
