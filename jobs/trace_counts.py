"""The rows of a trace, each counted by epoch, site and key, or left out for a reason that is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.counting import Counting
from jobs.progress import progress
from jobs.reading import read
from jobs.trace import Trace
from monitoring_lib import expressions
from monitoring_lib.config import Monitor
from monitoring_lib.config.source import OWN_COLUMNS
from monitoring_lib.errors import DataError

MOST_EXAMPLES = 3


@dataclass
class Account:
    """Every row that was read: counted, or left out for a reason of some kind."""

    read: int = 0
    counted: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)


FAULTY, EARLY, NAMELESS = "faulty", "before the origin", "without an item"


def count(trace: Trace, monitor: Monitor, keys: tuple[str, ...]) -> tuple[Counting, Account]:
    """The sums of the monitor's measure by epoch, site and keys, and what became of each row."""
    counting = Counting(keys, trace.source.epoch, trace.origin)
    account = Account()
    with progress("rows read") as work:
        for path in trace.paths:
            try:
                for rows in read(path, trace.source):
                    _take(rows, path, trace, monitor, counting, account)
                    work.advance(rows.num_rows)
            except DataError as error:
                if "has no column" not in str(error):
                    raise
                split = "" if trace.dealt else ", or deal its rows to sites with --split-sites N"
                raise DataError(f"{error}; say which column is which with --columns time=...{split}") from error
    return counting, account


def _take(
    rows: pa.RecordBatch, path: str, trace: Trace, monitor: Monitor, counting: Counting, account: Account
) -> None:
    """Counts the rows of a batch that can be, and says of the others why not."""
    columns = {name: rows[name] for name in ("line", "site", "item", "value", "fault")}
    columns["time"] = rows["time"].cast(pa.int64())
    if trace.dealt:
        columns["site"] = _dealt(account.read, rows.num_rows, trace)
    keys = {key: _key(key, rows, columns, monitor) for key in counting.keys}
    account.read += rows.num_rows
    good = pa.array(np.ones(rows.num_rows, bool))
    for kind, wrong in _reasons(columns, keys, trace.origin):
        found = pc.and_kleene(good, wrong)  # a faulty row may have no time to compare
        if found.true_count:
            account.left_out[kind] += found.true_count
            _give_examples(account, path, kind, columns["line"].filter(found), columns["fault"].filter(found))
            good = pc.and_not(good, found)
    if good.true_count < rows.num_rows:
        columns = {name: column.filter(good) for name, column in columns.items()}
        keys = {name: column.filter(good) for name, column in keys.items()}
    account.counted += good.true_count
    if monitor.measure == "sum(value)":
        weights = columns["value"].fill_null(0).to_numpy(zero_copy_only=False)
    else:
        weights = np.ones(good.true_count, np.int64)
    counting.add(columns["time"], columns["site"], keys, weights)


def _reasons(
    columns: Mapping[str, pa.Array], keys: Mapping[str, pa.Array], origin: int | None
) -> Iterator[tuple[str, pa.Array]]:
    """Why a row may not count, each reason with the rows it holds for; the first one tells."""
    yield FAULTY, columns["fault"].is_valid()
    if origin is not None:
        yield EARLY, pc.less(columns["time"], origin)
    for column in keys.values():
        yield NAMELESS, column.is_null()


def _give_examples(account: Account, path: str, kind: str, lines: pa.Array, faults: pa.Array) -> None:
    wanted = max(0, MOST_EXAMPLES - len(account.examples))
    for line, fault in zip(lines[:wanted].to_pylist(), faults[:wanted].to_pylist(), strict=True):
        account.examples.append(f"{path}, row {line}: {fault or kind}")


def _key(key: str, rows: pa.RecordBatch, columns: Mapping[str, pa.Array], monitor: Monitor) -> pa.Array:
    if key == "tick":
        return columns["time"]
    expression = expressions.parse(monitor.item)
    texts = {
        name: columns[name] if name in OWN_COLUMNS else pc.map_lookup(rows["fields"], name, "first")
        for name in expression.columns
    }
    return expressions.evaluate(expression, texts, rows.num_rows)


def _dealt(first: int, count: int, trace: Trace) -> pa.Array:
    """The sites of the rows from number `first` on: a hash of the row's number, so always the same."""
    from monitoring_lib.hashing import hash_integers  # loads a compiler: only where it is used

    codes = hash_integers(np.arange(first, first + count)) % np.uint64(len(trace.sites))
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(trace.sites))
