"""What the six methods send and publish: equal answers, repaid debts, lags, versions, windows, membership."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from monitoring_lib.codec import encode
from monitoring_lib.epochs import Window
from monitoring_lib.errors import ProtocolError, UsageError
from monitoring_lib.methods import LookUp
from monitoring_lib.network import COORDINATOR, Delivery
from monitoring_lib.protocols.distinct_count.bits import (
    LEVELS,
    costs_by_level,
    counts_by_level,
    listed,
    packed_by_level,
    unpacked_by_level,
    words_of,
)
from monitoring_lib.protocols.distinct_count.sketched.bitmaps import BitmapForm
from monitoring_lib.protocols.distinct_count.sketched.letters import BitItems, Whole
from monitoring_lib.replay import Step
from tests.protocols.distinct_count.driver import (
    SKETCHED,
    broken,
    disjoint_then_all,
    estimates,
    method,
    run,
    sent,
)

STREAM = disjoint_then_all(sites=6, own=300, epochs=25)


def letters(running: object, steps: list[Step]) -> list[object]:
    return [m.delivery(running.letters).letter for step in steps for m in step.settled.messages]  # type: ignore[attr-defined]


def test_exact_counts_an_item_once_at_however_many_sites_and_however_often() -> None:
    epochs = [{"a": ["x", "y"], "b": ["x"]}, {"a": ["x"], "b": []}, {"a": [], "b": ["z", "y"]}]
    steps = run(method("exact"), epochs)
    assert estimates(steps) == [2, 2, 3]
    assert [message.entries for step in steps for message in step.settled.messages] == [2, 1, 2]
    row = next(iter(steps[-1].settled.answers))
    assert (row.key, row.rank, row.low, row.high, row.confidence) == ("", None, 3, 3, 1)
    assert not broken(steps)


@pytest.mark.parametrize("name", [*SKETCHED, "exact"])
def test_nothing_seen_is_counted_as_0(name: str) -> None:
    row = next(iter(run(method(name), [{"a": []}])[0].settled.answers))
    assert (row.estimate, row.low, row.high) == (0, 0, 0)


def test_without_a_lag_all_methods_and_encodings_publish_what_one_sketch_of_all_items_says() -> None:
    expected = estimates(run(method("no-sharing", bitmaps=256), STREAM))
    for name in SKETCHED:
        for encoding in ("whole", "bits", "items"):
            assert estimates(run(method(name, bitmaps=256, encoding=encoding), STREAM)) == expected


@pytest.mark.parametrize("name", SKETCHED)
def test_with_a_lag_the_encoding_changes_no_answer_and_no_message_but_its_form(name: str) -> None:
    runs = [run(method(name, bitmaps=256, encoding=way, lag=0.03), STREAM) for way in ("whole", "bits", "items")]
    ways = [
        [[(m.round, m.sender, m.receivers, m.reason) for m in step.settled.messages] for step in steps]
        for steps in runs
    ]
    assert ways[0] == ways[1] == ways[2]
    assert estimates(runs[0]) == estimates(runs[1]) == estimates(runs[2])
    assert sent(runs[1]) < sent(runs[0])


def test_items_are_sent_only_while_they_are_smaller_than_the_sketch() -> None:
    running = method("no-sharing", bitmaps=256, encoding="items")
    said = letters(running, run(running, STREAM))
    assert {type(letter) for letter in said} == {BitItems, Whole}
    assert all(len(encode(letter)) <= 256 * 4 + 30 for letter in said)  # type: ignore[arg-type]


@pytest.mark.parametrize("sketch", ["hll", "cpc"])
def test_sketches_of_datasketches_run_through_every_method(sketch: str) -> None:
    exact = estimates(run(method("exact"), STREAM))
    for name in SKETCHED:
        steps = run(method(name, sketch=sketch, seed=3), STREAM)
        assert estimates(steps) == pytest.approx(exact, rel=0.1)
        assert not broken(steps)


def test_sharing_pays_where_sites_see_the_same_items_and_no_debt_is_repaid_before_it_is_owed() -> None:
    costs = {name: sent(run(method(name, bitmaps=512), STREAM)) for name in SKETCHED}
    assert costs["repaid-sharing"] < 0.7 * costs["no-sharing"]
    apart = [{f"s{at}": [f"{at}/{epoch}/{number}" for number in range(2)] for at in range(6)} for epoch in range(8)]
    repaid, alone = (run(method(name, bitmaps=1024), apart) for name in ("repaid-sharing", "no-sharing"))
    replies = [m for step in repaid for m in step.settled.messages if m.sender == COORDINATOR]
    assert sum(m.bytes for m in replies) <= 0.1 * sent(alone)


@pytest.mark.parametrize("bitmaps", [16, 170, 512, 70_000])
@pytest.mark.parametrize("arrivals", [0, 1, 5, 60, 2000])
def test_listed_bits_cross_as_gaps_within_what_they_are_reckoned_to_cost(bitmaps: int, arrivals: int) -> None:
    rng = np.random.default_rng(arrivals)
    levels = np.minimum(rng.geometric(0.5, arrivals) - 1, LEVELS - 1)
    words = words_of(rng.integers(0, bitmaps, arrivals) * LEVELS + levels, bitmaps)
    packed, counts = packed_by_level(words), counts_by_level(words)
    assert sorted(unpacked_by_level(packed, bitmaps)) == listed(words).tolist()
    if bitmaps == 512 and arrivals <= 60:  # so few that no level is cheaper as a row
        assert len(packed) <= costs_by_level(counts, bitmaps).sum() <= 2 * counts.sum()


@pytest.mark.parametrize("packed", [b"\x80", b"\x01\xff", b"\xff\xff\x7f", b"\xff\xff\xff\xff\xff\x01"])
def test_bytes_that_are_no_gaps_of_these_bitmaps_are_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match=r"a gap does not end|beyond the last level"):
        unpacked_by_level(packed, 512)


def test_a_debt_is_the_bytes_of_the_bits_that_were_held_and_is_kept_by_level() -> None:
    form = BitmapForm(method(bitmaps=256).ask)
    union = words_of(np.array([0, 1, LEVELS, 2 * LEVELS + 3]), 256)
    part = words_of(np.array([0, 1, 5 * LEVELS]), 256)
    debts = form.doubled(part, union)
    assert debts[:3].tolist() == [2, 2, 0]
    lacking = union & ~part
    assert counts_by_level(lacking)[:4].tolist() == [1, 0, 0, 1]
    paid, left = form.covered(debts, lacking)
    assert paid is not None
    assert listed(paid).tolist() == [LEVELS]  # level 0 is covered, level 3 has no debt
    assert left[:4].tolist() == [0, 2, 0, 0]
    debts[0] = 1
    assert form.covered(debts, lacking)[0] is None


@pytest.mark.parametrize("bitmaps", [200, 2048, 3000])
def test_bits_come_back_from_their_letter_whether_few_or_many(bitmaps: int) -> None:
    form, rng = BitmapForm(method(bitmaps=bitmaps).ask), np.random.default_rng(bitmaps)
    for share in (0.001, 0.02, 0.5):
        bits = np.flatnonzero(rng.random(bitmaps * LEVELS) < share * 0.5 ** (np.arange(bitmaps * LEVELS) % LEVELS / 4))
        letter = form.reply(1, words_of(bits, bitmaps), words_of(bits, bitmaps))
        assert letter.entries == len(bits)
        assert listed(form.opened(letter)).tolist() == bits.tolist()


def test_a_lost_report_and_a_wrong_acknowledgement_are_refused() -> None:
    running = method(bitmaps=256)
    form, moment = BitmapForm(running.ask), run(running, [{"a": ["x"]}])[0].moment
    state, words = running.inner.start(COORDINATOR), words_of(np.array([7]), 256)  # type: ignore[union-attr]
    first, third = (Delivery("a", form.reply(version, words, words)) for version in (1, 3))
    list(running.inner.receive(state, moment, 1, [first]))  # type: ignore[union-attr]
    with pytest.raises(ProtocolError, match="version 3 where 2 was due"):
        list(running.inner.receive(state, moment, 1, [third]))  # type: ignore[union-attr]
    with pytest.raises(ProtocolError, match="acknowledges version 3"):
        list(running.site.receive(running.site.start("a"), moment, 1, [third]))


def test_a_site_that_begins_anew_is_taken_for_one_that_knows_nothing() -> None:
    running = method("lazily-shared-sketch", bitmaps=256)
    form, moment = BitmapForm(running.ask), run(running, [{"a": ["x"], "b": ["y"]}])[0].moment
    inner = running.inner
    assert inner is not None
    state, both = inner.start(COORDINATOR), words_of(np.array([7, 9]), 256)
    list(inner.receive(state, moment, 1, [Delivery("a", form.reply(1, both, both))]))
    again = words_of(np.array([7]), 256)
    replies = list(inner.receive(state, moment, 1, [Delivery("a", form.reply(1, again, again))]))
    assert [listed(form.opened(post.letter)).tolist() for post in replies] == [[9]]


@pytest.mark.parametrize("name", SKETCHED)
def test_a_lag_saves_messages_and_keeps_back_no_more_than_it_says(name: str) -> None:
    lag = 0.03
    now, late = (run(method(name, bitmaps=1024, lag=given), STREAM) for given in (0.0, lag))
    reports = [[m for s in steps for m in s.settled.messages if m.sender != COORDINATOR] for steps in (now, late)]
    assert len(reports[1]) <= len(reports[0])
    for published, full in zip(estimates(late), estimates(now), strict=True):
        assert full / (1 + 2 * lag) <= published <= full


def test_without_bitmaps_they_are_chosen_and_too_few_are_a_fault_that_names_the_number() -> None:
    chosen = next(iter(method(error=0.1).summary().__dict__.values()))
    assert not list(method(error=0.1, bitmaps=chosen).faults())
    (fault,) = method(error=0.1, bitmaps=chosen - 1).faults()
    assert fault.path == ("options", "repaid-sharing", "bitmaps")
    assert str(chosen) in fault.problem
    assert next(iter(method(error=0.1, lag=0.03).summary().__dict__.values())) > chosen
    (fault,) = method(error=0.1, lag=0.12).faults()
    assert fault.path == ("options", "repaid-sharing", "lag")
    (fault,) = method(sketch="hll", confidence=0.999).faults()
    assert fault.path == ("confidence",)
    assert [fault.path[-1] for fault in method(sketch="cpc", encoding="bits").faults()] == ["encoding"]


@pytest.mark.parametrize("name", [*SKETCHED, "exact"])
def test_a_sliding_window_forgets_and_any_range_of_it_can_be_asked(name: str) -> None:
    running = method(name, error=0.1, window=Window(length=3))
    epochs = [{"a": [f"{epoch}/{number % 7}" for number in range(7)], "b": ["shared"]} for epoch in range(6)]
    epochs += [{"a": [], "b": []} for _ in range(4)]
    steps = run(running, epochs)
    assert estimates(steps) == pytest.approx([8, 15, 22, 22, 22, 22, 15, 8, 0, 0], abs=1.5)
    assert not broken(steps)
    assert not any(step.settled.messages for step in steps[6:])


def test_ranges_outside_the_window_and_of_growing_windows_are_refused() -> None:
    running = method(window=Window(length=3))
    inner = running.inner
    assert inner is not None
    steps = run(running, [{"a": ["x", "y"]}, {"a": ["y", "z"]}])
    state = inner.start(COORDINATOR)
    for step in steps:
        posts = [m.delivery(running.letters) for m in step.settled.messages]
        list(inner.receive(state, step.moment, 1, posts))
    counts = [next(iter(inner.look_up(state, steps[-1].moment, LookUp(range=n)))).estimate for n in (1, 2, 3)]
    assert counts == pytest.approx([2, 3, 3], abs=0.1)
    for asked in (LookUp(range=4), LookUp(point="x"), LookUp()):
        with pytest.raises(UsageError):
            inner.look_up(state, steps[-1].moment, asked)
    growing = method()
    with pytest.raises(UsageError, match="growing"):
        growing.inner.look_up(state, steps[-1].moment, LookUp(range=1))  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [*SKETCHED, "exact"])
def test_a_reset_starts_from_nothing(name: str) -> None:
    epochs = [{"a": ["x", "y", "z"], "b": ["x"]}, {"a": ["x"]}, {"a": ["x"], "b": []}, {"b": ["y"]}]
    steps = run(method(name, window=Window(reset=2)), epochs)
    assert estimates(steps) == pytest.approx([3, 3, 1, 2], abs=0.1)


@pytest.mark.parametrize("name", [*SKETCHED, "exact"])
def test_what_a_missing_site_has_seen_is_owed_and_the_answer_partial(name: str) -> None:
    epochs = [{"a": ["x"], "b": ["y"]}, {"a": ["z"], "b": ["w"]}, {"a": [], "b": ["v"]}]
    steps = run(method(name), epochs, missing={1: ["b"]})
    assert estimates(steps) == pytest.approx([2, 3, 4], abs=0.1)
    assert [step.settled.answers.any_partial for step in steps] == [False, True, True]
    assert not broken(steps)


def test_a_missing_site_that_does_not_know_of_a_larger_roster_makes_a_late_answer_partial() -> None:
    epochs = [{"a": [str(n) for n in range(50)]}, {f"s{at}": [str(at)] for at in range(4)} | {"a": []}, {"a": []}]
    steps = run(method("no-sharing", lag=0.03), epochs, missing={1: ["a"]})
    assert [step.settled.answers.any_partial for step in steps] == [False, True, False]
    assert not broken(steps)


def test_a_chain_goes_on_under_another_lag_or_confidence_but_not_under_another_sketch() -> None:
    before = method(bitmaps=512)
    assert method(bitmaps=512, lag=0.02, confidence=0.9, error=0.2).continues(before.ask)
    assert method(bitmaps=512, encoding="whole").continues(before.ask)
    assert not method(bitmaps=512, seed=1).continues(before.ask)
    assert not method(bitmaps=513).continues(before.ask)
    assert not method(bitmaps=512, encoding="items").continues(before.ask)
    assert not method(sketch="cpc", bitmaps=512).continues(before.ask)
    assert not method(bitmaps=512, window=Window(length=2)).continues(before.ask)


def test_the_judge_finds_wrong_numbers_wide_bounds_and_surplus_rows() -> None:
    running = method(bitmaps=512)
    step = run(running, [{"a": [str(n) for n in range(100)]}])[0]
    truth = running.question.truth(running.ask)
    summary = running.question.exact(running.ask)
    from tests.protocols.distinct_count.driver import synopsis

    items = synopsis(summary, "a", 0, [str(n) for n in range(100)])
    truth.observe(step.moment, "a", items, summary.empty(None))  # type: ignore[arg-type]
    good = next(iter(step.settled.answers))

    def kept(*rows: object) -> list[bool]:
        return truth.judge(step.moment, type(step.settled.answers).of(rows)).column("kept")  # type: ignore[arg-type]

    assert kept(good) == [True, True]
    assert kept(replace(good, low=101.0, estimate=102.0)) == [True, False]
    assert kept(replace(good, high=130.0)) == [False, True]
    assert kept(replace(good, low=80.0)) == [False, True]
    assert kept(replace(good, key="x")) == [False, True]
    assert kept() == [False]
    assert kept(good, good)[0] is False
