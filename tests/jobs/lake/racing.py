"""What the racing processes of test_seal_race do; spawned, because Delta's engine does not survive a fork."""

from __future__ import annotations

import random
import sys
import time

from jobs.lake import upkeep
from jobs.lake.ledger import Ledger
from jobs.lake.seals import Seal
from jobs.lake.store import Store
from monitoring_lib.errors import AlreadySealed, StorageError
from monitoring_lib.tables import EPOCHS

LENGTH = 3_600_000_000


def seal_of(epoch: int, write: str, parent: str) -> Seal:
    return Seal("s", "m", epoch * LENGTH, 0, write, {"drafts": write}, {"drafts": f"content {epoch}"}, parent=parent)


def race(root: str, name: str, epochs: int) -> None:
    """Tries to seal every epoch under a write of its own; prints the epochs that it won."""
    ledger, draw = Ledger(Store(root)), random.Random(name)
    for epoch in range(epochs):
        parent = seal_of(epoch - 1, "any", _parent(epoch - 1)).digest if epoch else ""
        mine = seal_of(epoch, f"{name}-{epoch}", parent)
        time.sleep(draw.random() * 0.004)
        try:
            ledger.seal([mine], LENGTH)
        except AlreadySealed:
            continue
        ledger.seal([mine], LENGTH)  # the acknowledgement may have been lost: asking again must be harmless
        print(epoch, flush=True)


def _parent(epoch: int) -> str:
    digest = ""
    for earlier in range(epoch):
        digest = seal_of(earlier, "any", digest).digest
    return digest


LARGE = 1 << 30
"""Bytes up to which files are put together."""


def compact(root: str, epochs: int) -> None:
    """Rewrites the ledger's files and its log over and over until all epochs are sealed."""
    store = Store(root)
    for _ in range(10_000):
        table = store.opened(EPOCHS)
        try:
            upkeep.compact(table, LARGE)
            upkeep.checkpoint(table)
        except Exception as error:  # a compaction that lost against a seal is what is being provoked
            print(f"compaction lost: {type(error).__name__}", file=sys.stderr)
        try:
            if store.read(EPOCHS, [], ["epoch_start"]).num_rows >= epochs:
                return
        except StorageError:
            continue
        time.sleep(0.005)


if __name__ == "__main__":
    if sys.argv[1] == "compact":
        compact(sys.argv[2], int(sys.argv[3]))
    else:
        race(sys.argv[2], sys.argv[3], int(sys.argv[4]))
