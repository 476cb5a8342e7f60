"""Columns of numbers to whole numbers: value times scale, exactly; what is not whole then gets a reason."""

from __future__ import annotations

import re
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.input.reading.reasons import Reasons, quoted_value

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_EXACT = Context(prec=400)
_EXACT_IN_DOUBLES = 2**53


def parse_values(column: pa.Array, scale: int, reasons: Reasons, name: str = "value") -> pa.Array:
    """Whole numbers; null where there is nothing, with a reason where something cannot be one exactly."""
    kind = column.type
    if pa.types.is_integer(kind):
        try:
            return pc.multiply_checked(column.cast(pa.int64()), scale)
        except pa.ArrowInvalid:
            return _one_by_one(column.cast(pa.string()), scale, reasons, name)
    if pa.types.is_floating(kind):
        return _of_doubles(column, scale, reasons, name)
    texts = column if pa.types.is_string(kind) else column.cast(pa.string())
    places = len(str(scale)) - 1
    try:
        if scale == 10**places:
            return whole_numbers_behind(texts.cast(pa.decimal128(18, places)))
    except pa.ArrowInvalid:
        pass
    return _one_by_one(texts, scale, reasons, name)


def whole_numbers_behind(decimals: pa.Array) -> pa.Array:
    """Decimals of at most 18 digits without their point: the lower half of the 16 bytes that each takes."""
    words = np.frombuffer(decimals.buffers()[1], np.int64)[::2][decimals.offset : decimals.offset + len(decimals)]
    return pa.array(words, mask=decimals.is_null().to_numpy(zero_copy_only=False))


def _of_doubles(column: pa.Array, scale: int, reasons: Reasons, name: str) -> pa.Array:
    """A double stands for the shortest decimal that reads back as it; n / scale is that if it gives it."""
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    there = column.is_valid().to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore", over="ignore"):
        whole = np.rint(values * scale)
        exact = (whole / scale == values) & (np.abs(whole) < _EXACT_IN_DOUBLES)
    numbers = np.where(exact, whole, 0).astype(np.int64)
    for at in np.flatnonzero(there & ~exact):
        text = repr(float(values[at]))
        number = _exactly(text, scale)
        if number is None:
            _reason(int(at), text, scale, reasons, name)
        else:
            exact[at], numbers[at] = True, number
    return pa.array(numbers, mask=~(exact & there))


def _one_by_one(texts: pa.Array, scale: int, reasons: Reasons, name: str) -> pa.Array:
    numbers: list[int | None] = []
    for at, text in enumerate(texts.to_pylist()):
        number = None if text is None else _exactly(text.strip(), scale)
        if number is None and text is not None:
            _reason(at, text, scale, reasons, name)
        numbers.append(number)
    return pa.array(numbers, pa.int64())


def _exactly(text: str, scale: int) -> int | None:
    if not _NUMBER.fullmatch(text) or len(text) > 300:
        return None
    product = _EXACT.multiply(Decimal(text), Decimal(scale))
    return int(product) if product == product.to_integral_value() and _fits(product) else None


def _fits(number: Decimal) -> bool:
    return -(2**63) <= number < 2**63


def _reason(row: int, text: str, scale: int, reasons: Reasons, name: str) -> None:
    stripped = text.strip()
    if not _NUMBER.fullmatch(stripped) or len(stripped) > 300:
        reasons.add(row, name, "is no number", quoted_value(text))
        return
    number = Decimal(stripped)
    if not _fits(_EXACT.multiply(number, Decimal(scale))):
        reasons.add(row, name, f"times the scale {scale} does not fit in 64 bits", stripped)
        return
    places = -int(number.normalize(_EXACT).as_tuple().exponent)
    reasons.add(row, name, f"needs scale {10**places if places < 10 else f'1e{places}'}", stripped)
