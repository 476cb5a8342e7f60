"""A difference of arrays, with the earlier one, gives the later one back to the bit."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.msgpack import Ext

from monitoring_lib.arrays import ARRAY, DIFFERENCE, difference_of, pack_array, unpack_array, unpack_difference
from monitoring_lib.errors import CodecError

WIDTHS = {"<i8": np.int64, "<u8": np.uint64, "<f8": np.float64}
bits = st.integers(0, 2**64 - 1) | st.integers(0, 200)


def array_of(numbers: list[int], wide: str, shape: tuple[int, ...]) -> np.ndarray:
    return np.array(numbers, np.uint64).view(WIDTHS[wide]).reshape(shape)


def difference(after: np.ndarray, before: np.ndarray, wide: str = "<i8") -> Ext:
    return difference_of(pack_array(after, wide, "here"), pack_array(before, wide, "here"), wide)


@given(st.sampled_from([*WIDTHS]), st.data())
def test_earlier_and_difference_give_the_later_array_to_the_bit(wide: str, data: Any) -> None:
    shape = data.draw(st.sampled_from([(60,), (3, 20), (2, 3, 10), (0,), (0, 4)]))
    size = int(np.prod(shape))
    before = data.draw(st.lists(bits, min_size=size, max_size=size))
    after = list(before)
    for at, value in data.draw(st.dictionaries(st.integers(0, max(size - 1, 0)), bits, max_size=8)).items():
        after[at : at + 1] = [value] if size else []
    one, other = array_of(before, wide, shape), array_of(after, wide, shape)
    whole = pack_array(other, wide, "here")
    change = difference(other, one, wide)
    assert unpack_array(whole, wide, "here").tobytes() == other.tobytes()
    if change.code == ARRAY:
        assert change == whole
    else:
        assert len(change.data) < len(whole.data)
        found = unpack_difference(change, one, wide, "here")
        assert found.tobytes() == other.tobytes()
        assert (found.shape, found.dtype) == (other.shape, other.dtype)
        assert one.tobytes() == array_of(before, wide, shape).tobytes(), "the earlier array stays as it is"


def test_few_changes_in_a_large_array_take_few_bytes() -> None:
    before = np.random.default_rng(1).integers(0, 2**40, 250_000)
    after = before.copy()
    after[::5000] += 3
    change = difference(after, before)
    assert change.code == DIFFERENCE
    assert len(change.data) < 300


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda a: a[::2], lambda a: a.astype(">i8")])
def test_the_layout_in_memory_does_not_matter(layout: Any) -> None:
    plain = np.arange(400).reshape(40, 10)
    after = layout(plain)
    before = np.zeros(after.shape, np.int64)
    before[1:] = after[1:]
    change = difference(after, before)
    assert change.code == DIFFERENCE
    assert np.array_equal(unpack_difference(change, before, "<i8", "here"), after)


def test_arrays_of_other_shapes_or_types_have_no_difference() -> None:
    array = pack_array(np.arange(50), "<i8", "here")
    others = [pack_array(other, "<i8", "here") for other in (np.arange(51), np.arange(50).reshape(5, 10))]
    for before in (None, *others, Ext(DIFFERENCE, array.data), [1]):
        assert difference_of(array, before, "<i8") is array


def forged(head: list[int], shape: list[int], body: bytes) -> Ext:
    lengths = b"".join(length.to_bytes(4, "little") for length in shape)
    return Ext(DIFFERENCE, bytes([*head, len(shape)]) + lengths + zlib.compress(body))


@pytest.mark.parametrize(
    "change",
    [
        Ext(DIFFERENCE, b""), Ext(DIFFERENCE, b"\x04\x00"), Ext(DIFFERENCE, b"\x04\x00\x01\x0a\x00\x00\x00garbage"),
        forged([99, 0], [10], b""), forged([0, 0], [10], b""), forged([4, 8], [10], b""), forged([4, 0], [], b""),
        forged([4, 0], [10], b"\x0a\x01"), forged([4, 0], [10], b"\x05\x05\x01\x01"), forged([4, 0], [10], b"\x01"),
        forged([4, 0], [10], b"\x00" * 10**6), forged([7, 0], [10], b"\xff" * 8 + b"\x01"),
        forged([4, 0], [11], b""), forged([4, 0], [2, 5], b""), forged([4, 0], [2**32 - 1] * 3, b""),
        forged([4, 0], [10, 0], b""),
    ],
)  # fmt: skip
def test_a_forged_difference_is_refused_by_name(change: Ext) -> None:
    with pytest.raises(CodecError, match=r"State\.cells: not a difference"):
        unpack_difference(change, np.zeros(10, np.int64), "<i8", "State.cells")


def test_alone_a_difference_is_the_change_from_zeros_and_claims_no_endless_array() -> None:
    before, after = np.full((5, 20), 7), np.full((5, 20), 7)
    after[2, 3] = 9
    change = difference(after, before)
    assert change.code == DIFFERENCE
    alone = unpack_difference(change, None, "<i8", "here")
    assert (alone.shape, int(alone[2, 3]), int(np.abs(alone).sum())) == ((5, 20), 2, 2)
    with pytest.raises(CodecError, match="no array has shape"):
        unpack_difference(forged([4, 0], [2**31], b""), None, "<i8", "here")
