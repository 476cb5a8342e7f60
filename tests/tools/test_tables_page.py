"""docs/tables.md is what the declarations say, and everything declared is described."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from jobs.lake.store import Store
from monitoring_lib.tables import ANSWERS, TABLES, Table
from monitoring_lib.tables.words import COLUMNS, TABLES_IN_WORDS
from tools.tables import PAGE, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tools.tables`"


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_table_and_column_is_described_in_words(table: Table) -> None:
    assert table.description.endswith(".")
    for name in table.columns:
        assert len(table.describe(name)) > 3
        assert "|" not in table.describe(name)


def test_no_words_are_left_over() -> None:
    assert TABLES_IN_WORDS.keys() == TABLES.keys()
    names = {name for table in TABLES.values() for name in table.columns}
    own = {f"{table.name}.{name}" for table in TABLES.values() for name in table.columns}
    assert COLUMNS.keys() <= names | own


def test_the_words_are_comments_of_the_delta_tables(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.opened(ANSWERS)
    made = DeltaTable(store.location(ANSWERS))
    assert made.metadata().description == ANSWERS.description
    comments = {field.name: field.metadata.get("comment") for field in made.schema().fields}
    assert comments == {name: ANSWERS.describe(name) for name in ANSWERS.columns}
