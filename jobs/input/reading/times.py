"""Columns of times, whatever they are written as, to exact microseconds; a row that is none gets a reason.

Digits finer than a microsecond are dropped. A time without a zone is taken in the source's zone: one that the
zone skips is a fault, one that it has twice is what `repeated_hour` says.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.input.reading.reasons import Reasons, quoted_value
from jobs.input.reading.values import whole_numbers_behind
from monitoring_lib.config import Source
from monitoring_lib.epochs import to_microseconds

TIMES = pa.timestamp("us", "UTC")
PLACES = {"auto": 6, "seconds": 6, "milliseconds": 3, "microseconds": 0}
"""Decimal places of a unit that are whole microseconds."""
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{0,30})?")
_ZONE = re.compile(r"[Tt ].*(?:[Zz]|[+-]\d\d(?::?\d\d)?)$")
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}.*)?|[0-9]{8}[Tt][0-9]{2}.*")


def parse_times(column: pa.Array, source: Source, reasons: Reasons) -> pa.Array:
    """Timestamps in UTC; null where there is none, with a reason where something else stands."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        whole = column.cast(pa.timestamp("us", kind.tz), safe=False)
        return whole.cast(TIMES) if kind.tz else _in_zone(whole, source, reasons)
    if pa.types.is_date(kind):
        return _in_zone(column.cast(pa.timestamp("us")), source, reasons)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _of_numbers(column, source, reasons)
    if source.time_format not in PLACES:
        return _of_pattern(column, source, reasons)
    times = _at_once(column, source, reasons)
    return _one_by_one(column, source, reasons) if times is None else times


def _of_numbers(column: pa.Array, source: Source, reasons: Reasons) -> pa.Array:
    if source.time_format not in PLACES:
        return _of_pattern(column.cast(pa.string()), source, reasons)
    unit = 10 ** PLACES[source.time_format]
    if pa.types.is_decimal(column.type):
        return _one_by_one(column.cast(pa.string()), source, reasons)
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    outside = ~((values * unit >= FIRST) & (values * unit <= LAST)) & column.is_valid().to_numpy(False)
    for at in np.flatnonzero(outside):
        reasons.add(int(at), "time", "lies outside the years 1 to 9999", quoted_value(column[int(at)].as_py()))
    good = pa.array(~outside & column.is_valid().to_numpy(False))
    if pa.types.is_integer(column.type):
        micros = pc.multiply(pc.if_else(good, column, None).cast(pa.int64()), unit)
    else:
        micros = pa.array(np.rint(np.where(outside | np.isnan(values), 0, values) * unit).astype(np.int64))
        micros = pc.if_else(good, micros, None)
    return micros.cast(TIMES)


def _at_once(texts: pa.Array, source: Source, reasons: Reasons) -> pa.Array | None:
    """Most columns are written in one way throughout, that of their first row; None where this one is not."""
    first = next((text for text in texts[:100].to_pylist() if text is not None), "")
    try:
        if _NUMBER.fullmatch(first):
            return _of_digits(texts, source)
        if source.time_format == "auto" and _ISO.fullmatch(first):
            if _ZONE.search(first):
                return texts.cast(TIMES)
            return _in_zone(texts.cast(pa.timestamp("us")), source, reasons)
    except pa.ArrowInvalid:
        pass
    return None


def _of_digits(texts: pa.Array, source: Source) -> pa.Array | None:
    """Numbers of a unit since 1970: the microseconds are the whole numbers behind decimals."""
    words = whole_numbers_behind(texts.cast(pa.decimal128(18, PLACES[source.time_format])))
    ends = pc.min_max(words).as_py()
    return words.cast(TIMES) if (ends["min"] or 0) >= FIRST and (ends["max"] or 0) <= LAST else None


def _one_by_one(texts: pa.Array, source: Source, reasons: Reasons) -> pa.Array:
    zoned: list[int | None] = []
    naive: list[datetime | None] = []
    for at, text in enumerate(texts.to_pylist()):
        moment = None if text is None else _moment(text.strip(), source)
        if moment is None and text is not None:
            reasons.add(at, "time", f"is {_expected(source)}", quoted_value(text))
        zoned.append(moment if isinstance(moment, int) else None)
        naive.append(moment if isinstance(moment, datetime) else None)
    local = _in_zone(pa.array(naive, pa.timestamp("us")), source, reasons)
    return pc.coalesce(pa.array(zoned, pa.int64()).cast(TIMES), local)


def _moment(text: str, source: Source) -> int | datetime | None:
    """Microseconds, or a datetime that still needs a zone."""
    if _NUMBER.fullmatch(text):
        micros = int(Decimal(text).scaleb(PLACES[source.time_format]).to_integral_value(ROUND_FLOOR))
        return micros if FIRST <= micros <= LAST else None
    if source.time_format != "auto" or not _ISO.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo is None else to_microseconds(moment)
    except (ValueError, OverflowError):
        return None


def _expected(source: Source) -> str:
    if source.time_format == "auto":
        return "neither ISO 8601 nor seconds since 1970"
    return f"no number of {source.time_format} since 1970"


def _of_pattern(texts: pa.Array, source: Source, reasons: Reasons) -> pa.Array:
    import pandas as pd

    zoned = "%z" in source.time_format
    parsed = pd.to_datetime(
        pd.Series(texts.to_pandas(), dtype="object"), format=source.time_format, errors="coerce", utc=zoned
    )
    values = parsed.to_numpy("datetime64[ns]") if not zoned else parsed.dt.tz_localize(None).to_numpy("datetime64[ns]")
    missing = np.isnat(values)
    for at in np.flatnonzero(missing & texts.is_valid().to_numpy(False)):
        reasons.add(int(at), "time", f"does not match {source.time_format}", quoted_value(texts[int(at)].as_py()))
    whole = pa.array(values.astype("datetime64[us]"), pa.timestamp("us"), mask=missing)
    return whole.cast(pa.int64()).cast(TIMES) if zoned else _in_zone(whole, source, reasons)


def _in_zone(local: pa.Array, source: Source, reasons: Reasons) -> pa.Array:
    """Clock times of the source's zone in UTC."""
    if source.time_zone == "UTC":
        return local.cast(pa.int64()).cast(TIMES)
    import pandas as pd

    index = pd.DatetimeIndex(local.to_numpy(zero_copy_only=False).astype("datetime64[us]"))
    repeated: str | NDArray[np.bool_] = "NaT"
    if source.repeated_hour != "fault":
        repeated = np.full(len(index), source.repeated_hour == "first")
    there = index.tz_localize(source.time_zone, ambiguous=repeated, nonexistent="NaT")
    lost = np.asarray(there.isna()) & local.is_valid().to_numpy(False)
    for at in np.flatnonzero(lost):
        moment = local[int(at)].as_py()
        reasons.add(int(at), "time", _why_lost(moment, source.time_zone), quoted_value(str(moment)))
    utc = there.tz_convert(None).to_numpy("datetime64[us]")
    return pa.array(utc, pa.timestamp("us"), mask=np.isnat(utc)).cast(pa.int64()).cast(TIMES)


def _why_lost(moment: datetime, zone: str) -> str:
    there = moment.replace(tzinfo=ZoneInfo(zone))
    back = there.astimezone(UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    if back != moment:
        return f"does not exist in {zone}: clocks went forward"
    return f"comes twice in {zone}: say `repeated_hour`, or write times with an offset"
