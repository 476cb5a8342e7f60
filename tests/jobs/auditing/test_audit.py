"""`farwatch audit`: finds nothing where all is well, with sites missing and rows owed; names every planted fault."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from jobs.auditing.result import Audit, Observed
from jobs.auditing.scope import AuditScope, scope_of
from jobs.epoch.planning import Arrivals
from jobs.looking.answer import look
from jobs.looking.answer_report import promise_line
from jobs.verbs.audit import audit
from monitoring_lib.answers import Answers, Verdict
from monitoring_lib.epochs import parse_time, to_microseconds
from monitoring_lib.errors import UsageError
from monitoring_lib.protocols.topk.caching.coordinator import CachingCoordinator
from monitoring_lib.tables import (
    ANSWERS,
    AUDITS,
    CURSORS,
    DRAFTS,
    EPOCHS,
    EVENTS,
    MESSAGES,
    STATES,
    SYNOPSES,
    VALIDATIONS,
    VERDICTS,
    Table,
)
from tests.jobs.auditing.conftest import COUNT, SILENT
from tests.jobs.sealed_home import BUSIEST, SOURCE, SealedHome, bought

Row = dict[str, Any]


def spoil(home: SealedHome, table: Table, change: Callable[[list[Row]], None]) -> None:
    """The table's rows, changed behind everybody's back."""
    place = home.context().lake.store_of(table).location(table)
    rows = pa.table(DeltaTable(place).scan()).cast(table.schema).to_pylist()
    change(rows)
    write_deltalake(place, pa.Table.from_pylist(rows, table.schema), mode="overwrite")


def first(rows: list[Row], **wanted: Any) -> Row:
    """One of the earliest epoch: a scan gives the rows of several files in any order."""
    fitting = (row for row in rows if all(row[name] == value for name, value in wanted.items()))
    return min(fitting, key=itemgetter("epoch_start"))


def told(found: Audit) -> dict[str, set[str]]:
    """By expectation, the monitors whose rows do not meet it."""
    kinds: dict[str, set[str]] = {}
    for one in found.all_findings:
        kinds.setdefault(one.expectation, set()).add(one.monitor)
    return kinds


def test_nothing_is_found_where_all_is_well(home: SealedHome) -> None:
    context = home.context()
    found = audit(context, "shop")
    assert list(found.problems()) == []
    assert {one.monitor: (one.kept, len(one.epochs)) for one in found.monitors.values()} == {
        "busiest": (COUNT, COUNT), "recent": (COUNT, COUNT),
    }  # fmt: skip
    assert found.monitors["recent"].partial == 4  # the epochs with the site missing or its rows owed, and one after
    verdicts = context.lake.centre.read(VERDICTS).to_pylist()
    assert {(row["monitor"], row["method"]) for row in verdicts} == {("busiest", "caching"), ("recent", "margins")}
    assert all(row["kept"] and row["write"] == found.write for row in verdicts)
    assert context.lake.centre.read(AUDITS).num_rows == 2 * COUNT


def test_the_exact_values_are_those_of_the_events(home: SealedHome) -> None:
    audit(home.context(), "shop", ["recent"])
    end = parse_time("2020-01-01T02:00Z")
    rows = home.context().lake.centre.read(VERDICTS, [("promise", "=", "total within bounds")]).to_pylist()
    exact = {row["key"]: row["exact"] for row in rows if row["tick"].timestamp() * 1e6 == end}
    assert exact == {"c": 8, "a": 8}  # both of two hours


@pytest.mark.parametrize("window", ["2h", "growing"])
def test_a_chain_that_begins_later_than_its_source_is_audited_from_there(tmp_path: Path, window: str) -> None:
    monitor = BUSIEST | ({} if window == "growing" else {"window": window})
    shop = SealedHome(tmp_path, monitors=(monitor,), source=SOURCE | {"begin": "first"})
    for hour in (5, 6, 7, 8):
        shop.land(bought(hour, north="aaab", south="cc"))
    shop.run(5, 9)
    for start in (None, parse_time("2020-01-01T06:00Z")):
        found = audit(shop.context(), "shop", start=start)
        assert list(found.problems()) == []
        assert found.monitors["busiest"].kept == (4 if start is None else 3)


def test_query_and_status_say_how_far_the_audit_came(home: SealedHome) -> None:
    audit(home.context(), "shop", end=parse_time("2020-01-01T04:00Z"))
    shown = home.command("query", "busiest")
    assert "audited up to 2020-01-01T03:00Z, kept in 4 of 4 epochs" in shown.stdout, shown.stderr
    shown = home.command("status")
    assert "busiest: audited up to 2020-01-01T03:00Z, kept in 4 of 4 epochs" in shown.stdout, shown.stderr


def test_an_epoch_that_was_sealed_anew_is_not_audited(home: SealedHome) -> None:
    audit(home.context(), "shop")
    home.run(5, COUNT, revise="tried again")
    home.land(bought(COUNT, north="a", west="b"))
    home.run(COUNT, COUNT + 1)
    assert "audited up to 2020-01-01T05:00Z, kept in 6 of 6" in home.command("query", "busiest").stdout
    home.land(bought(COUNT, north="aaaaaaaaaa"))
    home.run(COUNT, COUNT + 1, revise="late")
    assert home.command("query", "busiest").stdout.count("audited") == 1


@pytest.mark.parametrize("first_epoch", [2, 5])
def test_a_part_of_the_chain_is_judged_as_in_the_whole(home: SealedHome, first_epoch: int) -> None:
    whole, part = home.context(), home.context()
    audit(whole, "shop")
    start = whole.config.source("shop").clock.start_of(first_epoch)
    found = audit(part, "shop", start=start)
    assert list(found.problems()) == []
    rows = part.lake.centre.read(VERDICTS, [("epoch_start", ">=", start)])
    ours = said(rows, found.write)
    assert len(ours) == rows.num_rows // 2
    assert ours == said(rows, next(write for write in rows["write"].to_pylist() if write != found.write))


def said(rows: pa.Table, write: str) -> list[tuple[Any, ...]]:
    names = [name for name in VERDICTS.columns if name != "write"]
    return sorted(tuple(map(str, (row[name] for name in names))) for row in rows.to_pylist() if row["write"] == write)


def test_a_sample_is_a_share_of_the_epochs_and_the_same_on_the_same_tables(home: SealedHome) -> None:
    one, other = (audit(home.context(), "shop", sample=0.5) for _ in range(2))
    assert {len(result.epochs) for result in one.monitors.values()} == {3}
    assert [sorted(each.epochs) for each in one.monitors.values()] == [
        sorted(each.epochs) for each in other.monitors.values()
    ]
    assert list(one.problems()) == []
    with pytest.raises(UsageError, match="--sample 0: write a share"):
        audit(home.context(), "shop", sample=0)


def test_an_answer_changed_in_the_table_is_named(home: SealedHome) -> None:
    def change(rows: list[Row]) -> None:
        first(rows, monitor="recent", key="a")["estimate"] += 1

    spoil(home, ANSWERS, change)
    assert told(audit(home.context(), "shop")) == {"answers are as sealed": {"recent"}}


def test_an_answer_that_is_gone_and_one_that_nobody_sealed_are_named(home: SealedHome) -> None:
    def change(rows: list[Row]) -> None:
        rows.remove(first(rows, monitor="recent"))
        rows.append(first(rows, monitor="busiest") | {"revision": 7})

    spoil(home, ANSWERS, change)
    assert told(audit(home.context(), "shop")) == {"answers are as sealed": {"recent", "busiest"}}


def test_what_is_sealed_while_the_audit_runs_is_left_to_the_next(home: SealedHome) -> None:
    def scoped_then_sealed(*arguments: Any) -> AuditScope:
        scope = scope_of(*arguments)
        home.land(bought(COUNT - 1, north="z" * 60))
        home.run(COUNT - 1, COUNT, revise="late")
        home.land(bought(COUNT, north="ab", south="cd"))
        home.run(COUNT, COUNT + 1)
        return scope

    with patch("jobs.verbs.audit.scope_of", scoped_then_sealed):
        found = audit(home.context(), "shop")
    assert list(found.problems()) == []
    rows = home.context().lake.centre.read(AUDITS).to_pylist()
    assert (len(rows), {row["revision"] for row in rows}) == (2 * COUNT, {0})


def test_what_was_sealed_last_need_not_be_published_yet(home: SealedHome) -> None:
    with patch("jobs.verbs.seal.publish"):
        home.run(COUNT - 1, COUNT, revise="tried again")
    assert list(audit(home.context(), "shop").problems()) == []


def test_an_epoch_whose_answers_are_gone_is_named(home: SealedHome) -> None:
    moment = parse_time("2020-01-01T03:00Z")

    def change(rows: list[Row]) -> None:
        rows[:] = [row for row in rows if row["monitor"] != "recent" or to_microseconds(row["epoch_start"]) != moment]

    spoil(home, ANSWERS, change)
    assert told(audit(home.context(), "shop")) == {"answers are as sealed": {"recent"}}


def test_a_draft_that_was_changed_is_named_and_its_promise_broken(home: SealedHome) -> None:
    def change(rows: list[Row]) -> None:
        row = first(rows, monitor="recent", key="c", partial=False)
        row["estimate"], row["low"], row["high"] = 100.0, 90.0, 110.0

    spoil(home, DRAFTS, change)
    found = audit(home.context(), "shop")
    assert told(found) == {"drafts are as sealed": {"recent"}}
    [broken] = found.monitors["recent"].broken
    assert (broken.verdict.key, broken.verdict.promise, broken.verdict.exact) == ("c", "total within bounds", 4)


def test_a_message_whose_bytes_were_changed_is_named(home: SealedHome) -> None:
    def change(rows: list[Row]) -> None:
        row = first(rows, monitor="recent", method="margins")
        row["payload"] = row["payload"][:-1] + bytes([row["payload"][-1] ^ 1])

    spoil(home, MESSAGES, change)
    assert told(audit(home.context(), "shop")) == {
        "messages are as sealed": {"recent"}, "messages can be read": {"recent"},
    }  # fmt: skip


def test_a_message_that_is_gone_is_missed_in_the_traffic(home: SealedHome) -> None:
    spoil(home, MESSAGES, lambda rows: rows.remove(first(rows, monitor="busiest")))
    assert told(audit(home.context(), "shop")) == {
        "messages are as sealed": {"busiest"}, "traffic is as counted": {"busiest"},
    }  # fmt: skip


def test_lost_epochs_in_a_row_are_made_again_from_the_first_of_them(home: SealedHome) -> None:
    lost = {1: 1, 2: 1, 4: 4}

    def change(rows: list[Row]) -> None:
        rows[:] = [row for row in rows if row["monitor"] != "recent" or row["epoch_start"].hour not in lost]

    spoil(home, CURSORS, change)
    found = [one for one in audit(home.context(), "shop").all_findings if one.expectation == "cursors are as sealed"]
    assert len(found) == len(lost)
    for one, begin in zip(found, lost.values(), strict=True):
        assert f"--from 2020-01-01T{begin:02}:00" in one.detail


def test_an_event_that_was_deleted_after_the_seal_is_named(home: SealedHome) -> None:
    spoil(home, EVENTS, lambda rows: rows.remove(first(rows, site="north", item="a")))
    found = told(audit(home.context(), "shop"))
    assert found["events are those that landed"] == {""}
    assert found["synopses are those of the events"] == {"busiest", "recent"}


def test_an_event_that_was_changed_after_the_seal_is_named(home: SealedHome) -> None:
    def change(rows: list[Row]) -> None:
        first(rows, site="north", item="a")["item"] = "b"

    spoil(home, EVENTS, change)
    assert told(audit(home.context(), "shop")) == {"synopses are those of the events": {"busiest", "recent"}}


def test_a_synopsis_and_a_state_that_were_changed_are_named(home: SealedHome) -> None:
    def change(rows: list[Row]) -> None:
        rows[0]["payload"] = rows[0]["payload"][:-1] + bytes([rows[0]["payload"][-1] ^ 1])

    for table in (SYNOPSES, STATES):
        spoil(home, table, change)
    found = told(audit(home.context(), "shop"))
    assert {"synopses are as sealed", "states are as sealed", "states can be restored"} <= set(found)


def test_a_seal_with_another_set_of_sites_is_named(home: SealedHome) -> None:
    def change(rows: list[Row]) -> None:
        row = next(row for row in rows if row["monitor"] == "recent" and row["missing_sites"])
        row["missing_sites"] = []

    spoil(home, EPOCHS, change)
    found = audit(home.context(), "shop")
    assert told(found) == {"seals are as sealed": {"recent"}}
    assert "its sites, digests or counts were changed" in found.findings[0].detail


def test_a_site_that_no_monitor_took_in_is_named_and_the_answers_without_it_are_broken(home: SealedHome) -> None:
    home.land(bought(COUNT, north="ab", south="cd", east="z" * 50))
    kept = Arrivals.__init__

    def without_east(self: Arrivals, rows: pa.Table, *rest: Any, **more: Any) -> None:
        kept(self, rows.filter(pc.not_equal(rows["site"], "east")), *rest, **more)

    with patch.object(Arrivals, "__init__", without_east):
        home.run(COUNT, COUNT + 1)
    found = audit(home.context(), "shop")
    assert told(found)["sites that joined are those with new events"] == {"busiest", "recent"}
    assert {one.verdict.promise for one in found.monitors["recent"].broken} == {"set within tolerance"}


def test_a_promise_broken_by_the_method_is_found_in_every_epoch(home: SealedHome) -> None:
    answers = CachingCoordinator.answers

    def shifted(self: CachingCoordinator, state: Any, moment: Any) -> Answers:
        table = answers(self, state, moment).table
        for name in ("estimate", "low", "high"):
            column = pa.array([value + 100 for value in table[name].to_pylist()])
            table = table.set_column(table.schema.get_field_index(name), name, column)
        return Answers(table)

    with patch.object(CachingCoordinator, "answers", shifted):
        home.run(0, COUNT, revise="with a fault", only=["busiest"])
    found = audit(home.context(), "shop")
    assert {one.promise for one in found.monitors["busiest"].breaches} == {"total within bounds"}
    assert found.monitors["busiest"].kept == 0
    assert found.monitors["recent"].kept == COUNT
    assert told(found) == {}
    verdict = found.monitors["busiest"].broken[0].verdict
    assert verdict.error == 100


def test_an_answer_that_hides_what_it_lacks_is_broken(home: SealedHome) -> None:
    with patch.object(Answers, "as_partial", lambda self: self):
        home.run(4, 5, missing={SILENT: "wild values"}, revise="hidden", only=["busiest"])
        home.run(5, COUNT, revise="hidden", only=["busiest"])
    found = audit(home.context(), "shop", ["busiest"])
    assert {one.promise for one in found.monitors["busiest"].breaches} == {
        "partial where data is missing, and only there"
    }


def test_rows_that_landed_after_the_seal_break_what_was_promised_and_the_remedy_is_named(home: SealedHome) -> None:
    home.land(bought(1, north="z" * 60))
    found = audit(home.context(), "shop")
    assert found.monitors["recent"].broken[0].verdict.promise == "set within tolerance"
    assert told(found) == {}


def test_findings_are_kept_with_the_validations(home: SealedHome) -> None:
    def change(rows: list[Row]) -> None:
        sealed = [row for row in rows if row["write"].startswith("resolve")]
        sealed[0]["content"] += " "

    spoil(home, CURSORS, change)
    found = audit(home.context(), "shop")
    kept = home.context().lake.centre.read(VALIDATIONS, [("step", "=", "audit")]).to_pylist()
    assert [row["expectation"] for row in kept] == ["cursors are as sealed"]
    assert kept[0]["write"] == found.write
    assert "`farwatch run --source shop" in kept[0]["detail"]


def verdict(error: float, kept: bool, confidence: float) -> Verdict:
    return Verdict("@coordinator", 0, "", "count within bounds", 1.0, error, 1.0, kept, confidence)


def test_a_probable_promise_may_be_broken_as_often_as_chance_explains() -> None:
    seen = Observed("count within bounds", 0.95)
    for draw in range(200):
        seen.add(verdict(1.5 if draw < 20 else 0.1, draw >= 20, 0.95), draw)
    assert (seen.broken, seen.most_broken, seen.is_kept) == (20, 23, True)
    for draw in range(10):
        seen.add(verdict(1.5, False, 0.95), draw)
    assert not seen.is_kept


def test_epochs_that_are_one_draw_convict_only_by_a_large_error() -> None:
    slightly, badly = Observed("count within bounds", 0.95), Observed("count within bounds", 0.95)
    for _ in range(30):
        slightly.add(verdict(1.2, False, 0.95), 0)
        badly.add(verdict(9.0, False, 0.95), 0)
    assert slightly.is_kept
    assert not badly.is_kept


def test_the_line_under_an_answer_names_the_audit(home: SealedHome) -> None:
    audit(home.context(), "shop")
    assert "audited" not in promise_line(look(home.context(), "busiest"))
    audited = look(home.context(), "busiest").audited
    assert audited is not None
    assert audited.to_plain() == {"up_to": "2020-01-01T05:00Z", "epochs": COUNT, "kept": COUNT}
