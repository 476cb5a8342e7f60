"""What the commands that look say of damaged tables: never a wrong answer, never "worth retrying"."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from monitoring_lib.tables import CURSORS, DRAFTS, MESSAGES, STATES, Table
from tests.jobs.lake.damage import change_payload, double_rows, lose_data_file, lose_newest_commit
from tests.jobs.sealed_home import SealedHome, bought


@pytest.fixture
def home(tmp_path: Path) -> SealedHome:
    made = SealedHome(tmp_path)
    for hour in range(2):
        made.land(bought(hour, north="aab", south="bcc"), f"data/{hour}.csv")
        made.run(hour, hour + 1)
    return made


@pytest.mark.parametrize(
    ("words", "table"),
    [
        (("query", "busiest"), DRAFTS),
        (("inspect", "busiest"), MESSAGES),
        (("inspect", "busiest", "--what", "state"), STATES),
        (("inspect", "busiest", "--what", "state"), CURSORS),
        (("query", "--sql", "SELECT count(*), min(payload) FROM messages"), MESSAGES),
    ],
    ids=lambda part: part.name if isinstance(part, Table) else part[0],
)
def test_a_damaged_table_is_named_with_the_way_out(home: SealedHome, words: tuple[str, ...], table: Table) -> None:
    by_digest: list[Callable[[Path, Table], None]] = [] if "--sql" in words else [change_payload, double_rows]
    folder = home.home / "var" / "coordinator" / table.name
    for damage in [*by_digest, lose_newest_commit if by_digest else lose_data_file]:
        damage(folder, table)
    found = home.command(*words)
    assert found.returncode == 1, found.stderr
    assert f"the table `{table.name}` is damaged" in found.stderr
    assert "`farwatch " in found.stderr
    assert "Traceback" not in found.stderr
