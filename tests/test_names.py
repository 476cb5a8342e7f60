"""A column of names is the list of names, in memory and in bytes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monitoring_lib import _columnar, names
from monitoring_lib.errors import CodecError
from monitoring_lib.names import MANY, Names
from monitoring_lib.tally_columns import pack_integers, unpack_integers

texts = st.lists(st.text("ab\0ü\U0001f40e", max_size=4) | st.sampled_from(["x" * 31, "x" * 32, "y" * 255, "y" * 256]))
whole_numbers = st.lists(
    st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([s * 2**b + d for b in (5, 7, 8, 15, 16, 31, 32, 62) for s in (1, -1) for d in (-1, 0, 1)])
)


@pytest.fixture(scope="module", autouse=True)
def compiled_for_few() -> Any:
    """The compiled loops are used from the first name on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names, "MANY", 1)
        patch.setattr("monitoring_lib.tally_columns.MANY", 1)
        yield


def head_of_16_bits(packed: bytes, count: int) -> bytes:
    """The same array with the head that the compiled loops read: few are written with one byte."""
    return b"\xdc" + count.to_bytes(2, "big") + packed[1 if count < 16 else 3 :]


@settings(deadline=None)
@given(texts)
@example(["z" * 70_000])
def test_names_in_a_column_are_written_and_read_as_msgspec_does_it(strings: list[str]) -> None:
    expected = msgspec.msgpack.encode(strings)
    packed = Names(pa.array(strings, pa.string())).pack("here")
    assert msgspec.msgpack.encode(packed) == expected
    assert Names.unpack(msgspec.Raw(expected), "here") == strings
    many = Names.of_many(msgspec.Raw(head_of_16_bits(expected, len(strings))))
    assert many == strings if strings else many is None


@settings(deadline=None)
@given(whole_numbers)
def test_whole_numbers_in_an_array_are_written_and_read_as_msgspec_does_it(numbers: list[int]) -> None:
    expected = msgspec.msgpack.encode(numbers)
    assert msgspec.msgpack.encode(pack_integers(np.array(numbers, np.int64))) == expected
    found = unpack_integers(msgspec.Raw(head_of_16_bits(expected, len(numbers))))
    assert found is None if not numbers else found is not None and found.tolist() == numbers


@pytest.mark.parametrize("other", [2**63, 2**64 - 1, 0.5, "1", None, True, [1]])
def test_an_array_with_anything_but_64_bit_numbers_is_left_to_others(other: Any) -> None:
    assert unpack_integers(msgspec.Raw(head_of_16_bits(msgspec.msgpack.encode([1, other]), 2))) is None


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=40), st.integers(0, 2**16 - 1) | st.integers(0, 20))
def test_whatever_the_bytes_are_they_are_names_or_refused(data: bytes, count: int) -> None:
    raw = msgspec.Raw(b"\xdc" + count.to_bytes(2, "big") + data)
    try:
        expected = msgspec.msgpack.decode(raw, type=list[str])
    except ValueError:
        expected = None
    try:
        found = Names.unpack(raw, "State.names")
    except CodecError:
        found = None
    assert found == expected
    numbers = unpack_integers(raw)
    assert numbers is None or numbers.tolist() == msgspec.msgpack.decode(raw, type=list[int])


def test_what_is_no_list_of_names_is_refused_by_name() -> None:
    for raw in (b"\xc0", b"\x91\x01", b"\xdc\x00\x01\xa2a", b"\xdc\x00\x01\xa1\xff"):
        with pytest.raises(CodecError, match=r"State\.names: not a list of names"):
            Names.unpack(msgspec.Raw(raw), "State.names")


@given(texts)
def test_names_behave_as_the_list_of_them(strings: list[str]) -> None:
    for found in (Names(strings), Names(pa.array(strings, pa.string())), Names(Names(strings))):
        assert found == strings
        assert list(found) == strings
        assert len(found) == len(strings)
        assert repr(found) == repr(strings)
        assert found[1:] == strings[1:]
        assert [found[at] for at in range(len(strings))] == strings
        assert found.increase() == all(one < other for one, other in pairwise(strings))
        assert found.column.to_pylist() == strings


@settings(deadline=None)
@given(texts, texts)
def test_a_union_holds_each_name_once_in_the_order_of_its_first_sight(one: list[str], other: list[str]) -> None:
    assert Names(one).union(Names(other)) == list(dict.fromkeys([*one, *other]))


@settings(deadline=None)
@given(texts, texts)
def test_names_among_others_come_in_their_own_order(one: list[str], other: list[str]) -> None:
    assert Names(one).among(dict.fromkeys(other).keys()) == [name for name in one if name in other]


@settings(deadline=None)
@given(texts, texts)
def test_places_among_sorted_names_are_those_of_a_binary_search(strings: list[str], wanted: list[str]) -> None:
    strings, wanted = sorted(set(strings)), sorted(set(wanted))
    places, known = np.empty(len(wanted), np.intp), np.empty(len(wanted), np.bool_)
    _columnar.locate(*Names(strings).buffers(), *Names(wanted).buffers(), places, known)
    assert known.tolist() == [name in strings for name in wanted]
    assert places.tolist() == [sum(other < name for other in strings) for name in wanted]


def test_a_slice_of_an_arrow_column_is_written_by_itself() -> None:
    column = pa.array(["a", "bb", "ccc", "d"])[1:3]
    assert msgspec.msgpack.encode(Names(column).pack("here")) == msgspec.msgpack.encode(["bb", "ccc"])
    assert Names(column).increase()


def test_a_missing_name_is_refused() -> None:
    with pytest.raises(ValueError, match="names: 1 of 2 are missing"):
        Names(pa.array(["a", None]))


def test_what_is_no_string_is_not_written() -> None:
    with pytest.raises(TypeError, match=r"Counts\.names: names must be strings"):
        Names(["a", 1]).pack("Counts.names")  # type: ignore[list-item]


def test_names_are_no_key() -> None:
    with pytest.raises(TypeError, match="no key"):
        hash(Names(["a"]))
    assert Names(["a"]) != "a"


def test_compiled_loops_are_for_many() -> None:
    assert MANY > 10_000, "loading them takes longer than Python takes for fewer"
