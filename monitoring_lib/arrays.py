"""Arrays inside images: whole, in the narrowest width that holds them, or as a difference to an earlier one.

A difference holds what changed and nothing else: where (the gaps between changed places) and by how much
(whole numbers: later minus earlier, modulo 2^64; words and doubles: their bits, exclusive or), each in its
narrowest width, then compressed. With the earlier array it gives the later one back to the bit; alone, it is
shown as the change from zeros.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
from msgspec.msgpack import Ext
from numpy.typing import NDArray

from monitoring_lib.errors import CodecError

ARRAY, DIFFERENCE = 2, 3
"""The types of extension that arrays take in a body."""

_NARROWER = {"<i8": ("<i1", "<i2", "<i4", "<i8"), "<u8": ("<u1", "<u2", "<u4", "<u8"), "<f8": ("<f8",)}
_WIDTHS = tuple(width for widths in _NARROWER.values() for width in widths)
_RANGES = {
    wide: tuple((width, int(np.iinfo(width).min), int(np.iinfo(width).max)) for width in widths)
    for wide, widths in _NARROWER.items()
    if wide != "<f8"
}
_MOST_DIMENSIONS = 4
_LEVEL = 6
_NOTHING = zlib.compress(b"", _LEVEL)
"""The body of a difference between arrays that are the same."""
_LARGEST = 64 * 1024 * 1024
"""Numbers above which an array is not read from a difference: it can claim a size that its bytes do not bound."""


def pack_array(array: Any, wide: str, where: str) -> Ext:
    if not isinstance(array, np.ndarray) or array.dtype.newbyteorder("<").str != wide:
        found = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise TypeError(f"{where}: expected an array of {wide}, found {found}")
    if not 1 <= array.ndim <= _MOST_DIMENSIONS or 0 in array.shape[1:]:
        raise TypeError(f"{where}: images cannot hold an array of shape {array.shape}")
    narrow = _narrowest(array, wide)
    shape = b"".join(length.to_bytes(4, "little") for length in array.shape[1:])
    head = bytes((_WIDTHS.index(narrow), array.ndim)) + shape
    return Ext(ARRAY, head + np.ascontiguousarray(array, narrow).tobytes())


def difference_of(packed: Ext, before: Any, wide: str) -> Ext:
    """Of packed arrays, the difference to the earlier one, if there is one of the same shape and it is shorter."""
    if not isinstance(before, Ext) or before.code != ARRAY:
        return packed
    now, then = bytes(packed.data), bytes(before.data)
    start = 2 + 4 * (now[1] - 1)
    if now[1:start] != then[1:start]:
        return packed
    later, earlier = _flat(now, start), _flat(then, start)
    if later.size != earlier.size:
        return packed
    difference = _difference(later, earlier, wide, now[2:start])
    return Ext(DIFFERENCE, difference) if len(difference) < len(now) else packed


def _flat(data: bytes, start: int) -> NDArray[Any]:
    """The numbers of a packed array in the width that it was packed in; doubles as their bits."""
    width = _WIDTHS[data[0]]
    return np.frombuffer(data, "<u8" if width == "<f8" else width, offset=start)


def _difference(later: NDArray[Any], earlier: NDArray[Any], wide: str, rest: bytes) -> bytes:
    """What to add to the earlier array; `rest` is the packed shape without the first length."""
    kind = _changes_as(np.dtype(wide))
    places = np.flatnonzero(later != earlier)
    if not len(places):
        widths, body = ("<u8", kind), _NOTHING
    else:
        now, then = later[places].astype(kind), earlier[places].astype(kind)
        values = now - then if kind == "<i8" else now ^ then
        gaps = places.astype("<u8")
        gaps[1:] -= gaps[:-1].copy() + np.uint64(1)
        widths = _narrowest(gaps, "<u8"), _narrowest(values, kind)
        body = zlib.compress(gaps.astype(widths[0]).tobytes() + values.astype(widths[1]).tobytes(), _LEVEL)
    lengths: list[int] = np.frombuffer(rest, "<u4").tolist()
    shape = (later.size // math.prod(lengths)).to_bytes(4, "little") + rest
    return bytes((*map(_WIDTHS.index, widths), 1 + len(lengths))) + shape + body


def unpack_array(plain: Ext, wide: str, where: str) -> NDArray[Any]:
    data = bytes(plain.data)
    if plain.code != ARRAY or len(data) < 2 or data[0] >= len(_WIDTHS) or not 1 <= data[1] <= _MOST_DIMENSIONS:
        raise CodecError(f"{where}: expected an array, found extension {plain.code}")
    if _WIDTHS[data[0]] not in _NARROWER[wide]:
        raise CodecError(f"{where}: expected an array of {wide}, found one of {_WIDTHS[data[0]]}")
    start = 2 + 4 * (data[1] - 1)
    rest = [int.from_bytes(data[at : at + 4], "little") for at in range(2, start, 4)]
    row = int(np.prod(rest, dtype=object)) if rest else 1
    try:
        flat = np.frombuffer(data, _WIDTHS[data[0]], offset=start)
        if row == 0 or flat.size % row:
            raise ValueError("its length does not fit its shape")
        array: NDArray[Any] = flat.reshape(flat.size // row, *rest).astype(wide)
    except ValueError as error:
        raise CodecError(f"{where}: not an array ({error})") from error
    return array


def unpack_difference(plain: Ext, before: Any, wide: str, where: str) -> NDArray[Any]:
    """The later array; the earlier one is not changed, and is all zeros if there is none."""
    try:
        data = bytes(plain.data)
        shape, start = _shape(data)
        if before is not None and (not isinstance(before, np.ndarray) or before.shape != shape):
            raise ValueError(f"of shape {shape}, as the earlier one is not")
        later = np.zeros(shape, wide) if before is None else np.ascontiguousarray(before, wide).copy()
        change = later.reshape(-1).view(_changes_as(later.dtype))
        gaps, values = _read_difference(data, start, change)
        places = np.cumsum(gaps + np.uint64(1), dtype=np.uint64) - np.uint64(1)
        if len(places) and (int(gaps.max()) >= change.size or int(places[-1]) >= change.size):
            raise ValueError("a place beyond the array's end")
    except (ValueError, zlib.error) as error:
        raise CodecError(f"{where}: not a difference to the array of the row before ({error})") from error
    at = places.astype(np.intp)
    change[at] = change[at] + values if change.dtype.kind == "i" else change[at] ^ values
    return later


def _shape(data: bytes) -> tuple[tuple[int, ...], int]:
    """The array's shape, and where the change begins."""
    if len(data) < 3 or max(data[:2]) >= len(_WIDTHS) or not 1 <= data[2] <= _MOST_DIMENSIONS:
        raise ValueError("no such widths or shape")
    start = 3 + 4 * data[2]
    shape = tuple(int.from_bytes(data[at : at + 4], "little") for at in range(3, start, 4))
    if math.prod(shape) > _LARGEST or 0 in shape[1:]:
        raise ValueError(f"no array has shape {shape}")
    return shape, start


def _read_difference(data: bytes, start: int, change: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Gaps and values, of the widths that the head names; never more than the array has places."""
    widths = _WIDTHS[data[0]], _WIDTHS[data[1]]
    if widths[0] not in _NARROWER["<u8"] or widths[1] not in _NARROWER[change.dtype.str]:
        raise ValueError(f"widths {widths}")
    entry = sum(np.dtype(width).itemsize for width in widths)
    press = zlib.decompressobj()
    body = press.decompress(data[start:], change.size * entry + 1)
    if not press.eof or press.unused_data or len(body) % entry:
        raise ValueError("its length does not fit")
    count = len(body) // entry
    gaps = np.frombuffer(body, widths[0], count)
    values = np.frombuffer(body, widths[1], count, offset=count * np.dtype(widths[0]).itemsize)
    return gaps.astype(np.uint64), values.astype(change.dtype)


def _changes_as(dtype: np.dtype[Any]) -> str:
    return "<i8" if dtype.kind == "i" else "<u8"


def _narrowest(array: NDArray[Any], wide: str) -> str:
    if wide == "<f8" or not array.size:
        return wide
    low, high = int(array.min()), int(array.max())
    return next(width for width, least, most in _RANGES[wide] if least <= low and high <= most)
