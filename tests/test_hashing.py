"""Hashes that are the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from monitoring_lib.hashing import (
    SPARK_SEED,
    as_column,
    draw,
    hash_integers,
    hash_items,
    hash_strings,
    hash_text,
)

PRIME = 2654435761
"""What xxHash's own sanity check fills its buffer and its seed with."""


def sanity_buffer(length: int) -> bytes:
    out, state = bytearray(), 2654435761
    for _ in range(length):
        out.append((state >> 24) & 255)
        state = (state * state) & 0xFFFFFFFF
    return bytes(out)


@pytest.mark.parametrize(
    ("text", "seed", "known"),
    [
        ("", 0, 0xEF46DB3751D8E999),
        ("a", 0, 0xD24EC4F1A98C6E5B),
        ("abc", 0, 0x44BC2CF5AD770999),
        ("Nobody inspects the spammish repetition", 0, 0xFBCEA83C8A378BF1),
        ("xxhash", 0, 3665147885093898016),
        ("xxhash", 20141025, 13067679811253438005),
    ],
)
def test_known_values_of_xxh64(text: str, seed: int, known: int) -> None:
    assert hash_text(text, seed) == known
    assert int(hash_strings([text], seed)[0]) == known


@pytest.mark.parametrize(
    ("length", "seed", "known"),
    [
        (1, 0, 0x4FCE394CC88952D8),
        (1, PRIME, 0x739840CB819FA723),
        (14, 0, 0xCFFA8DB881BC3A3D),
        (14, PRIME, 0x5B9611585EFCC9CB),
    ],
)
def test_xxhashs_own_sanity_check(length: int, seed: int, known: int) -> None:
    array = pa.array([sanity_buffer(length)], pa.binary())
    assert int(hash_strings(array, seed)[0]) == known


def test_whole_numbers_are_their_eight_little_endian_bytes() -> None:
    numbers = np.array([0, 1, -1, 2**63 - 1, -(2**63), 123456789])
    as_bytes = pa.array([int(n).to_bytes(8, "little", signed=True) for n in numbers], pa.binary())
    assert hash_integers(numbers, 5).tolist() == hash_strings(as_bytes, 5).tolist()


def test_sparks_xxhash64_is_seed_42() -> None:
    """`SELECT xxhash64('Spark'), xxhash64(1L)`, as signed numbers."""
    assert SPARK_SEED == 42
    assert hash_strings(["Spark"], SPARK_SEED).view(np.int64).tolist() == [-4294468057691064905]
    assert hash_integers(np.array([1]), SPARK_SEED).view(np.int64).tolist() == [-7001672635703045582]


def test_every_form_of_the_same_strings_hashes_alike() -> None:
    texts = ["", "a", "é", "日本語", "x" * 31, "x" * 32, "x" * 33, "quo'te/\\"]
    expected = hash_strings(texts, 3).tolist()
    forms = [
        tuple(texts),
        np.array(texts),
        np.array(texts, object),
        pa.array(texts),
        pa.array(texts, pa.large_string()),
        pa.array(texts, pa.string_view()),
        pa.array(texts).dictionary_encode(),
        pa.array([text.encode() for text in texts], pa.binary()),
        pa.chunked_array([texts[:3], texts[3:]]),
    ]
    for form in forms:
        assert hash_items(form, 3).tolist() == expected


def test_every_form_of_the_same_whole_numbers_hashes_alike() -> None:
    numbers = [0, 5, 100]
    expected = hash_integers(np.array(numbers), 3).tolist()
    forms = [numbers, pa.array(numbers), pa.array(numbers, pa.uint16()), pa.chunked_array([[0], [5, 100]])]
    forms += [np.array(numbers, kind) for kind in ("i1", "u1", "<i4", ">i8", "u8")]
    forms.append(np.array([0, 9, 5, 9, 100])[::2])
    for form in forms:
        assert hash_items(form, 3).tolist() == expected


def test_a_number_and_its_digits_are_different_items() -> None:
    assert hash_items([5])[0] != hash_items(["5"])[0]


def test_slices_hash_as_what_they_show() -> None:
    texts = [f"item number {i} " + "é" * (i % 40) for i in range(100)]
    whole = hash_strings(texts, 9)
    for kind in (pa.string(), pa.large_string()):
        array = pa.array(texts, kind)
        for start, length in [(0, 100), (1, 50), (99, 1), (100, 0), (37, 11)]:
            sliced = array.slice(start, length).slice(0)
            assert hash_strings(sliced, 9).tolist() == whole[start : start + length].tolist()


def test_a_slice_without_its_nulls_is_hashed() -> None:
    array = pa.array(["a", None, "b"])
    assert hash_strings(array.slice(2), 1).tolist() == [hash_text("b", 1)]


def test_a_string_of_a_hundred_thousand_characters_is_one_item() -> None:
    long = "長" * 100_000
    assert hash_text(long) == hash_text(str(long))
    assert hash_text(long) != hash_text(long[:-1])


def test_nothing_hashes_to_nothing() -> None:
    for empty in ([], np.array([], np.int64), np.array([], str), pa.array([], pa.string())):
        assert len(hash_items(empty)) == 0


def test_an_arrow_array_of_empty_strings_is_hashed() -> None:
    assert hash_items(pa.array(["", ""])).tolist() == [hash_text("")] * 2


@pytest.mark.parametrize("nulls", [["a", None], pa.array(["a", None]), pa.array([1, None]), [None]])
def test_nulls_are_refused(nulls: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        hash_items(nulls)


@pytest.mark.parametrize("wrong", [np.array([1.5]), np.array([True]), np.zeros((2, 2), int), [1.5], pa.array([1.5])])
def test_what_is_neither_whole_number_nor_string_is_refused(wrong: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        hash_items(wrong)


def test_columns_are_numbers_in_numpy_or_strings_in_arrow() -> None:
    assert isinstance(as_column([1, 2]), np.ndarray)
    assert isinstance(as_column(pa.array([1, 2])), np.ndarray)
    assert isinstance(as_column(["a"]), pa.Array)
    assert isinstance(as_column(np.array(["a"])), pa.Array)


def test_seeds_give_unrelated_hashes() -> None:
    items = np.arange(2000)
    first, second = hash_integers(items, 1), hash_integers(items, 2)
    differing = np.bitwise_count(first ^ second)
    assert abs(differing.mean() - 32) < 4 * 4 / np.sqrt(2000)
    assert hash_integers(items, -1).tolist() == hash_integers(items, 2**64 - 1).tolist()


def test_every_bit_of_a_hash_is_fair() -> None:
    hashes = hash_integers(np.arange(20_000), 7)
    for bit in range(64):
        share = ((hashes >> np.uint64(bit)) & np.uint64(1)).mean()
        assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(20_000)


def test_draws_are_splitmix64() -> None:
    """The first outputs of the reference generator with state 0."""
    assert draw(0, 3).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert draw(5, 10)[:4].tolist() == draw(5, 4).tolist()
    assert len(set(draw(1, 1000).tolist()) | set(draw(2, 1000).tolist())) == 2000


@pytest.mark.slow
def test_another_process_hashes_alike_whatever_its_hash_seed() -> None:
    script = (
        "import numpy as np; from monitoring_lib.hashing import *;"
        "print(hash_text('é/'), *hash_integers(np.arange(3), 9), *draw(4, 2))"
    )
    expected = " ".join(map(str, [hash_text("é/"), *hash_integers(np.arange(3), 9), *draw(4, 2)]))
    for seed in ("0", "123"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.getcwd()},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected
