"""The rows of a trace, each counted by epoch, site and keys, or left out for a reason that is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.input.reading import read
from jobs.simulation.counting import Counting
from jobs.simulation.grouping import IntColumn, decoded
from jobs.simulation.trace import Trace
from jobs.terminal.progress import progress
from monitoring_lib import expressions
from monitoring_lib.config import Monitor, Source
from monitoring_lib.config.source import OWN_COLUMNS
from monitoring_lib.errors import DataError
from monitoring_lib.summaries import Intake

MOST_EXAMPLES = 3

RowMask = NDArray[np.bool_]


@dataclass
class Account:
    """Every row that was read: counted, dropped by the monitor's `where`, or left out for a reason of some kind."""

    read: int = 0
    counted: int = 0
    dropped: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def leave_out(self, kind: str, count: int, examples: Sequence[str]) -> None:
        self.left_out[kind] += count
        self.examples += examples[: max(0, MOST_EXAMPLES - len(self.examples))]


FAULTY, EARLY, NAMELESS, REFUSED = "faulty", "before the origin", "without an item", "refused by the question"


def count(
    trace: Trace, monitor: Monitor, intakes: Sequence[Intake], placement: tuple[str, ...] = ()
) -> tuple[Counting, Account]:
    """What each site took in of each epoch, for all intakes in one pass, and what became of each row.

    `placement` are the expressions that say where a site belongs; of several places the smallest counts.
    """
    counting = Counting(monitor.name, intakes, trace.source.epoch, trace.origin, placement)
    account = Account()
    ranks = {path: rank for rank, path in enumerate(sorted(trace.paths))}
    with progress("rows read") as work:
        for path in trace.paths:
            try:
                for rows in read(path, trace.source):
                    _take(rows, path, ranks[path], trace, counting, account)
                    work.advance(rows.num_rows)
            except DataError as error:
                if "has no column" not in str(error):
                    raise
                split = "" if trace.dealt else ", or deal its rows to sites with --split-sites N"
                raise DataError(f"{error}; say which column is which with --columns time=...{split}") from error
    counting.close()
    if counting.refused:
        account.counted -= counting.refused
        account.leave_out(REFUSED, counting.refused, [f"{REFUSED}: {example}" for example in counting.examples])
    return counting, account


def _take(rows: pa.RecordBatch, path: str, rank: int, trace: Trace, counting: Counting, account: Account) -> None:
    """Counts the rows of a batch that can be, and says of the others why not."""
    dealt = _dealt(account.read, rows.num_rows, trace) if trace.dealt else rows["site"]
    account.read += rows.num_rows
    good = _readable(rows, path, trace.origin, account)
    if good is not None:
        rows, dealt = rows.filter(good), dealt.filter(good)
    if not rows.num_rows:
        return
    batch = _Batch(rows, dealt, trace.source)
    epochs = (batch.times - counting.start) // counting.length
    counting.see(epochs, dealt, [batch.text(place).fill_null("") for place in counting.placement])
    nameless = np.zeros(rows.num_rows, bool)
    asked = np.zeros(rows.num_rows, bool)
    for wish, grouping in counting.groupings.items():
        there = batch.holds(wish.where)
        keys = {key: batch.key(text, wish.hashed, counting) for key, text in wish.keys}
        named = _all_there(keys.values(), rows.num_rows)
        asked |= there
        nameless |= there & ~named
        kept = there & named
        values = batch.number(wish.measure.column) if wish.measure.column else None
        if values is not None:
            kept &= values.is_valid().to_numpy(zero_copy_only=False)
            values = None if wish.measure.reduction == "count" else values
        order = {"time": batch.times, "path": np.full(rows.num_rows, rank), "line": rows["line"].to_numpy()}
        if kept.all():
            grouping.add(epochs, dealt, keys, values, order)
        else:
            mask = pa.array(kept)
            keys = {key: column.filter(mask) for key, column in keys.items()}
            order = {name: column[kept] for name, column in order.items()}
            grouping.add(epochs[kept], dealt.filter(mask), keys, None if values is None else values.filter(mask), order)
    account.dropped += int((~asked).sum())
    account.counted += int((asked & ~nameless).sum())
    if nameless.any():
        lines = rows["line"].to_numpy()[nameless]
        examples = [f"{path}, row {line}: {NAMELESS}" for line in lines[:MOST_EXAMPLES]]
        account.leave_out(NAMELESS, len(lines), examples)


def _readable(rows: pa.RecordBatch, path: str, origin: int | None, account: Account) -> pa.Array | None:
    """Which rows have a time and a place in the calendar; None where all have."""
    good = rows["fault"].is_null()
    if good.true_count < rows.num_rows:
        wrong = rows.filter(pc.invert(good)).select(["line", "fault"])
        shown = wrong[:MOST_EXAMPLES].to_pylist()
        examples = [f"{path}, row {row['line']}: {row['fault']}" for row in shown]
        account.leave_out(FAULTY, wrong.num_rows, examples)
    if origin is not None:
        early = pc.and_kleene(good, pc.less(rows["time"].cast(pa.int64()), origin))
        if early.true_count:
            lines = rows["line"].filter(early)[:MOST_EXAMPLES].to_pylist()
            account.leave_out(EARLY, early.true_count, [f"{path}, row {line}: {EARLY}" for line in lines])
            good = pc.and_not(good, early.fill_null(False))
    return None if good.true_count == rows.num_rows else good


class _Batch:
    """Rows of a trace that can be read, with what expressions say of them, each evaluated once."""

    def __init__(self, rows: pa.RecordBatch, sites: pa.Array, source: Source) -> None:
        self._rows, self._sites, self._source = rows, sites, source
        self._texts: dict[str, pa.Array] = {}
        self._encoded: dict[str, pa.Array] = {}
        self._true: dict[str, RowMask] = {}

    @cached_property
    def times(self) -> IntColumn:
        found: IntColumn = self._rows["time"].cast(pa.int64()).to_numpy()
        return found

    def text(self, text: str) -> pa.Array:
        if text not in self._texts:
            expression = expressions.parse(text)
            named = {name: self._column(name) for name in expression.columns}
            self._texts[text] = expressions.evaluate(expression, named, self._rows.num_rows)
        return self._texts[text]

    def number(self, name: str) -> pa.Array:
        """A value column: whole numbers."""
        return self._rows["value"] if name == "value" else pc.map_lookup(self._rows["values"], name, "first")

    def holds(self, where: str) -> RowMask:
        if where not in self._true:
            self._true[where] = self._holds(where)
        return self._true[where]

    def key(self, text: str, hashed: bool, counting: Counting) -> pa.Array:
        """A key of each row: its text in a dictionary, the hash of it, or the number of its tick."""
        if not text:
            return pa.array((self.times - counting.start) // counting.tick)
        if text not in self._encoded:
            self._encoded[text] = self.text(text).dictionary_encode()
        codes = self._encoded[text]
        return _hashed(codes) if hashed else codes

    def _holds(self, where: str) -> RowMask:
        rows = self._rows.num_rows
        if not where:
            return np.ones(rows, bool)
        condition, kinds, scales = expressions.parse_condition(where), self._source.kinds, self._source.scales
        columns = {
            name: expressions.Values(self.number(name), "number", scales[name])
            if kinds[name] == "number"
            else expressions.Values(self._column(name))
            for name in condition.columns
        }
        found: RowMask = expressions.holds(condition, columns, rows).fill_null(False).to_numpy(zero_copy_only=False)
        return found

    def _column(self, name: str) -> pa.Array:
        if name == "site":
            return decoded(self._sites)
        return self._rows[name] if name in OWN_COLUMNS else pc.map_lookup(self._rows["fields"], name, "first")


def _all_there(columns: Iterable[pa.Array], rows: int) -> RowMask:
    there = np.ones(rows, bool)
    for column in columns:
        if column.null_count:
            there &= column.is_valid().to_numpy(zero_copy_only=False)
    return there


def _hashed(codes: pa.Array) -> pa.Array:
    """XXH64 of each text, computed once for each entry of the dictionary."""
    from monitoring_lib.hashing import SPARK_SEED, hash_strings  # loads a compiler: only where it is used

    return pa.array(hash_strings(codes.dictionary, SPARK_SEED)).take(codes.indices)


def _dealt(first: int, count: int, trace: Trace) -> pa.Array:
    """The sites of the rows from number `first` on: a hash of the row's number, so always the same."""
    from monitoring_lib.hashing import hash_integers  # loads a compiler: only where it is used

    codes = hash_integers(np.arange(first, first + count)) % np.uint64(len(trace.sites))
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(trace.sites))
