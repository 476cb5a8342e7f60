"""How far a monitor's sealed epochs have been audited, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jobs.lake import Lake, column_list
from jobs.lake.conditions import RowCondition
from jobs.looking.sealed_chain import SealedChain
from jobs.terminal.wording import counted
from monitoring_lib.epochs import format_time
from monitoring_lib.tables import AUDITS


@dataclass(frozen=True)
class Audited:
    """Of the epochs as they are sealed now: a revision that came after an audit was not audited."""

    last: int
    epochs: int
    broken: frozenset[int]
    """Where a promise was."""
    damaged: frozenset[int]
    """Where sealed rows were not as they had been sealed."""

    @property
    def kept(self) -> int:
        return self.epochs - len(self.broken | self.damaged)

    @property
    def text(self) -> str:
        return f"audited up to {format_time(self.last)}, kept in {self.kept:,} of {counted(self.epochs, 'epoch')}"

    def to_plain(self) -> dict[str, Any]:
        return {"up_to": format_time(self.last), "epochs": self.epochs, "kept": self.kept}


def audited_of(lake: Lake, source: str, monitor: str, chain: SealedChain) -> Audited | None:
    """None where no epoch of the chain was audited as it is now."""
    conditions: list[RowCondition] = [("source", "=", source), ("monitor", "=", monitor)]
    rows = lake.centre.read(AUDITS, conditions).sort_by("audited_at")
    columns = [column_list(rows, name) for name in ("epoch_start", "seal", "broken", "damaged")]
    sealed = dict(zip(chain.starts.tolist(), chain.column("digest"), strict=True))
    found = {
        start: (broken, damaged)
        for start, seal, broken, damaged in zip(*columns, strict=True)
        if sealed.get(start) == seal
    }
    if not found:
        return None
    bad = [frozenset(start for start, counts in found.items() if counts[at]) for at in (0, 1)]
    return Audited(max(found), len(found), *bad)
