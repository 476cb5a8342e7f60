"""Seals: all or none, the same write twice, revisions, the chain of parents, and the journal of landings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.lake.ledger import Ledger, Overtaken, journal_start
from jobs.lake.store import Store
from monitoring_lib.epochs import Clock
from monitoring_lib.errors import AlreadySealed
from tests.jobs.lake.racing import LENGTH, seal_of

CLOCK = Clock(0, LENGTH)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(Store(str(tmp_path)))


def test_sealing_the_same_write_again_does_nothing(ledger: Ledger) -> None:
    first = seal_of(0, "mine", "")
    ledger.seal([first], LENGTH)
    ledger.seal([first], LENGTH)
    assert [(seal.write, seal.revision) for seal in ledger.seals("s", "m")] == [("mine", 0)]


def test_another_write_is_refused_where_one_is_sealed(ledger: Ledger) -> None:
    ledger.seal([seal_of(0, "mine", "")], LENGTH)
    with pytest.raises(AlreadySealed, match=r"sealed by another write \(mine, revision 0\)"):
        ledger.seal([seal_of(0, "theirs", "")], LENGTH)


def test_of_several_seals_all_or_none_are_committed(ledger: Ledger) -> None:
    first = seal_of(0, "mine", "")
    ledger.seal([first], LENGTH)
    with pytest.raises(AlreadySealed):
        ledger.seal([replace(first, monitor="other"), replace(first, write="theirs")], LENGTH)
    assert ledger.seals("s", "other") == []


def test_a_correction_is_sealed_over_the_old_one_and_both_stay(ledger: Ledger) -> None:
    first = seal_of(0, "mine", "")
    ledger.seal([first], LENGTH)
    ledger.seal([replace(first, write="better", revision=1, reason="late rows")], LENGTH)
    (current,) = ledger.seals("s", "m")
    assert (current.write, current.revision, current.reason) == ("better", 1, "late rows")
    assert [seal.write for seal in ledger.revisions("s", "m")] == ["mine", "better"]


def test_the_newest_epoch_is_found_however_many_seals_of_others_came_since(ledger: Ledger) -> None:
    assert ledger.last("s", "m") is None
    assert ledger.last_sealed("s") is None
    parent = ""
    for epoch in range(3):
        one = seal_of(epoch, f"m {epoch}", parent)
        ledger.seal([one], LENGTH)
        parent = one.digest
    for epoch in range(40, 120, 2):
        ledger.seal([replace(seal_of(epoch, f"other {epoch}", ""), source="t")], LENGTH)
    ledger.seal([replace(seal_of(1, "better", seal_of(0, "m 0", "").digest), revision=1)], LENGTH)
    last = ledger.last("s", "m")
    assert last is not None
    assert (last.epoch_start, last.write) == (2 * LENGTH, "m 2")
    assert (ledger.last_sealed("s"), ledger.last_sealed("t")) == (2 * LENGTH, 118 * LENGTH)


def test_a_seal_whose_parent_was_sealed_anew_is_refused(ledger: Ledger) -> None:
    first = seal_of(0, "mine", "")
    ledger.seal([first], LENGTH)
    corrected = replace(first, write="better", revision=1, digests={"drafts": "other content"})
    ledger.seal([corrected], LENGTH)
    with pytest.raises(AlreadySealed, match="the epoch before it was sealed anew"):
        ledger.seal([seal_of(1, "next", first.digest)], LENGTH)
    ledger.seal([seal_of(1, "next", corrected.digest)], LENGTH)


def test_a_seals_digest_covers_its_content_and_its_parent_but_neither_writes_nor_clocks() -> None:
    seal = seal_of(1, "one", "parent")
    same = replace(seal, write="two", writes={"drafts": "two"}, sealed_at=5, revision=3, times={"land": 7}, landing=9)
    assert same.digest == seal.digest
    for other in (
        replace(seal, digests={"drafts": "x"}), replace(seal, parent="x"), replace(seal, missing_sites=["x"]),
        replace(seal, joined_sites=["x"]), replace(seal, config_digest="x"), replace(seal, epoch_start=5),
    ):  # fmt: skip
        assert other.digest != seal.digest


def test_a_landing_is_journalled_once_and_a_second_at_once_is_overtaken(ledger: Ledger) -> None:
    ledger.seal_landing("s", CLOCK, 0, "land-1", {LENGTH: {"landed": 4}})
    ledger.seal_landing("s", CLOCK, 0, "land-1", {LENGTH: {"landed": 4}})
    assert [seal.write for seal in ledger.journal("s", CLOCK)] == ["land-1"]
    with pytest.raises(Overtaken):
        ledger.seal_landing("s", CLOCK, 0, "land-2", {LENGTH: {"landed": 9}})
    ledger.seal_landing("s", CLOCK, 1, "land-2", {LENGTH: {"landed": 9}})
    assert [seal.revision for seal in ledger.journal("s", CLOCK)] == [1, 2]
    brought = ledger.landed("s", LENGTH, 2 * LENGTH)
    assert sorted((seal.write, seal.counts["landed"]) for seal in brought) == [("land-1", 4), ("land-2", 9)]
    assert ledger.landed("s", journal_start(CLOCK) + LENGTH, LENGTH) == []


def test_what_was_sealed_after_a_commit_is_told_by_its_first_epoch(ledger: Ledger) -> None:
    first = seal_of(0, "mine", "")
    ledger.seal([first], LENGTH)
    ledger.seal([seal_of(1, "next", first.digest)], LENGTH)
    (tip,) = ledger.seals("s", "m", LENGTH)
    assert tip.version == ledger.version
    assert ledger.changed_since("s", "m", tip.version, 9 * LENGTH) is None
    assert ledger.changed_since("s", "m", tip.version - 1, 9 * LENGTH) == LENGTH
    ledger.seal([replace(first, write="better", revision=1, reason="late rows")], LENGTH)
    assert ledger.changed_since("s", "m", tip.version, 9 * LENGTH) == 0
    assert ledger.changed_since("s", "other", tip.version, 9 * LENGTH) is None
