"""Codes of bits, the table that holds them, and what they say."""

from __future__ import annotations

import numpy as np
import pytest

from monitoring_lib.codec import decode, encode
from monitoring_lib.names import Names
from monitoring_lib.protocols.distinct_pairs.bit_table import BitTable
from monitoring_lib.protocols.distinct_pairs.layout import LEVELS, Layout, bits_of, estimates_by_cell, variances
from monitoring_lib.protocols.distinct_pairs.quantile_bits.dyadic import DyadicShares
from monitoring_lib.synopses.fm import FM
from monitoring_lib.synopses.fm_array import FmArray
from tests.protocols.distinct_pairs import stored


def test_codes_name_the_bits_that_an_array_of_sketches_sets() -> None:
    layout = Layout(rows=3, cells=17, bitmaps=8, seed=5)
    items, partners = [f"item {n % 40}" for n in range(900)], [f"é {n}" for n in range(900)]
    array = FmArray.of_size(3, 17, 8, seed=5)
    array.update(items, partners)
    bits = bits_of(Names(items), Names(partners), 8, 5)
    codes = np.unique(layout.codes(Names(items), bits))
    words = np.zeros((3 * 17, 8), np.uint64)
    cells, within = np.divmod(codes, layout.bits)
    np.bitwise_or.at(words, (cells, within // LEVELS), np.uint64(1) << (within % LEVELS).astype(np.uint64))
    assert np.array_equal(words.reshape(3, 17, 8), array.bitmaps)
    found, estimates = estimates_by_cell(codes, 8)
    dense = np.array([FM(words[cell]).estimate() for cell in found])
    assert np.allclose(estimates, dense, rtol=1e-12)


def test_a_table_holds_each_code_once_and_says_which_columns_were_new() -> None:
    rng, table, known = np.random.default_rng(3), BitTable(), set()
    for _ in range(40):
        codes = rng.integers(0, 1 << 40, (2, rng.integers(1, 60))) >> rng.integers(0, 38)
        expected = []
        for column in codes.T.tolist():
            expected.append(not known.issuperset(column))
            known.update(column)
        assert table.add(codes).tolist() == expected
        assert table.codes().tolist() == sorted(known)
        assert table.used == len(known) <= len(table.table) / 2
    table.clear()
    assert len(table.codes()) == table.used == 0


def test_a_table_of_many_codes_grows() -> None:
    table = BitTable()
    codes = np.arange(200_000)[np.newaxis]
    assert table.add(codes).all()
    assert not table.add(codes).any()
    assert table.codes().tolist() == list(range(200_000))


@pytest.mark.parametrize(("size", "used"), [(0, 0), (32, 0), (65, 0), (64, 64), (64, -1)])
def test_a_table_of_odd_size_is_refused(size: int, used: int) -> None:
    with pytest.raises(ValueError, match="table"):
        BitTable(np.zeros(size, np.int64), used)


def test_few_new_codes_change_few_bytes_of_what_is_stored() -> None:
    table = BitTable()
    table.add(np.arange(0, 50_000)[np.newaxis])
    state = stored.Kept(decode(encode(stored.Holder(table)), stored.Holder))
    table.add(np.arange(60_000, 60_050)[np.newaxis])
    assert state.bytes_of_changes(stored.Holder(table)) < 1000 < len(encode(stored.Holder(table)))


def test_variances_are_those_of_the_sketch() -> None:
    for number in (1.0, 30.0, 1e3, 1e6):
        expected = FM.of_size(100).standard_error(number) * number
        assert np.sqrt(variances(np.array([number]), 100))[0] == pytest.approx(expected)


def test_shares_never_fall_and_add_up_over_dyadic_ranges() -> None:
    rng = np.random.default_rng(1)
    numbers, bitmaps = np.sort(rng.integers(0, 256, 600)), 64
    bits = bits_of(Names(map(str, numbers)), Names(map(str, range(600))), bitmaps, 2)
    shares = DyadicShares(np.unique(numbers * bitmaps * LEVELS + bits), 8, bitmaps)
    found = [shares.first_above(share) for share in np.linspace(0, 1, 101)]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (numbers[0], numbers[-1])
    assert shares.first_above(1.5, strictly=True) == numbers[-1]
