"""Msgpack arrays of strings and of whole numbers, read and written as columns; and sorted columns compared.

A column of strings is Arrow's: all characters in a row, and the offsets at which each string starts and ends.
"""

from __future__ import annotations

from typing import Any

import numba

_MOST_FIXED = 31


@numba.njit(cache=True)
def read_strings(raw: Any, at: int, offsets: Any, data: Any) -> int:
    """Fills offsets and characters from `at` on; where it ended, or -1 at what is not a string."""
    filled = 0
    offsets[0] = 0
    for number in range(len(offsets) - 1):
        if at >= len(raw):
            return -1
        head = raw[at]
        if head & 0xE0 == 0xA0:
            width, length = 0, int(head) & _MOST_FIXED
        elif 0xD9 <= head <= 0xDB:
            width, length = 1 << (int(head) - 0xD9), 0
            if at + width >= len(raw):
                return -1
            for place in range(width):
                length = length << 8 | int(raw[at + 1 + place])
        else:
            return -1
        at += 1 + width
        if at + length > len(raw):
            return -1
        for place in range(length):
            data[filled + place] = raw[at + place]
        at += length
        filled += length
        offsets[number + 1] = filled
    return at


@numba.njit(cache=True)
def write_strings(offsets: Any, data: Any, out: Any) -> int:
    """The strings in msgpack's shortest form, without the array's head; how many bytes they take."""
    at = 0
    for number in range(len(offsets) - 1):
        start, length = int(offsets[number]), int(offsets[number + 1]) - int(offsets[number])
        if length <= _MOST_FIXED:
            out[at] = 0xA0 | length
            at += 1
        else:
            log = 0 if length < 1 << 8 else 1 if length < 1 << 16 else 2
            out[at] = 0xD9 + log
            at = _write_big_endian(out, at + 1, length, 1 << log)
        for place in range(length):
            out[at + place] = data[start + place]
        at += length
    return at


@numba.njit(cache=True)
def read_integers(raw: Any, at: int, out: Any) -> int:
    """Fills 64-bit numbers from `at` on; where it ended, or -1 at what is not a number of 64 bits with a sign."""
    for number in range(len(out)):
        if at >= len(raw):
            return -1
        head = int(raw[at])
        if head <= 0x7F or head >= 0xE0:
            out[number] = head if head <= 0x7F else head - 256
            at += 1
            continue
        if not (0xCC <= head <= 0xD3):
            return -1
        signed = head >= 0xD0
        width = 1 << (head - (0xD0 if signed else 0xCC))
        if at + width >= len(raw):
            return -1
        value = 0
        for place in range(width):
            value = value << 8 | int(raw[at + 1 + place])
        if signed and width < 8 and value >> (8 * width - 1):
            value -= 1 << 8 * width
        if not signed and value < 0:  # from 2^63 up
            return -1
        out[number] = value
        at += 1 + width
    return at


@numba.njit(cache=True)
def write_integers(values: Any, out: Any) -> int:
    """The numbers in msgpack's shortest form, without the array's head; how many bytes they take."""
    at = 0
    for number in range(len(values)):
        value = values[number]
        if -32 <= value <= 127:
            out[at] = value & 0xFF
            at += 1
            continue
        if value > 0:
            log = 0 if value < 1 << 8 else 1 if value < 1 << 16 else 2 if value < 1 << 32 else 3
            out[at] = 0xCC + log
        else:
            log = 0 if value >= -(1 << 7) else 1 if value >= -(1 << 15) else 2 if value >= -(1 << 31) else 3
            out[at] = 0xD0 + log
        at = _write_big_endian(out, at + 1, value, 1 << log)
    return at


@numba.njit(inline="always")
def _write_big_endian(out: Any, at: int, value: int, width: int) -> int:
    for place in range(width):
        out[at + place] = value >> 8 * (width - 1 - place) & 0xFF
    return at + width


@numba.njit(inline="always")
def _compare(offsets: Any, data: Any, i: int, others: Any, other_data: Any, j: int) -> int:
    """-1, 0 or 1; by bytes, which for UTF-8 is by characters."""
    start, other_start = offsets[i], others[j]
    length, other_length = offsets[i + 1] - start, others[j + 1] - other_start
    for place in range(min(length, other_length)):
        one, other = data[start + place], other_data[other_start + place]
        if one != other:
            return -1 if one < other else 1
    if length == other_length:
        return 0
    return -1 if length < other_length else 1


@numba.njit(cache=True)
def increases(offsets: Any, data: Any) -> bool:
    """Whether each string is larger than the one before."""
    for number in range(len(offsets) - 2):  # noqa: SIM110  # compiled
        if _compare(offsets, data, number, offsets, data, number + 1) >= 0:
            return False
    return True


@numba.njit(cache=True)
def locate(offsets: Any, data: Any, wanted: Any, wanted_data: Any, places: Any, known: Any) -> None:
    """Of each wanted string the first place whose string is not smaller, and whether that is the string itself."""
    at, count = 0, len(offsets) - 1
    for number in range(len(wanted) - 1):
        found = 1
        while at < count:
            found = _compare(offsets, data, at, wanted, wanted_data, number)
            if found >= 0:
                break
            at += 1
        places[number] = at
        known[number] = at < count and found == 0
