"""Why an answer is valid, in sentences: the promise, who took part, the proof that the method keeps, and the checks."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.epoch.context import Context
from jobs.lake.conditions import RowCondition
from jobs.looking.answer import ShownAnswer
from jobs.looking.inspection import inspect
from jobs.looking.sealed import SealedEpoch
from jobs.terminal.wording import counted, size
from monitoring_lib.errors import FarwatchError
from monitoring_lib.network import COORDINATOR
from monitoring_lib.tables import MESSAGES, VALIDATIONS


def why_valid(context: Context, look: ShownAnswer) -> list[dict[str, str]]:
    """Each sentence with what it is about. The rows of `look` were compared with their seal when they were read."""
    epoch = look.epoch
    found = [
        ("what is promised", f"{epoch.promise}: {epoch.meaning}."),
        ("who took part", _taking_part(look)),
        ("what was exchanged", _exchanged(context, epoch)),
        *(("the proof", text) for text in _proof(context, epoch)),
        ("what was checked", _checked(context, epoch)),
        ("what is sealed", _sealed(look)),
        ("what the audit found", _audited(look)),
    ]
    return [{"about": about, "text": text} for about, text in found]


def _taking_part(look: ShownAnswer) -> str:
    known, missing = look.sites, len(look.epoch.seal.missing_sites)
    text = f"{known - missing:,} of {counted(known, 'site')} took part in the epoch."
    if missing:
        text += " The promise holds as of each missing site's last report."
    owed = sum(one.rows for one in look.set_aside)
    return f"{text} {counted(owed, 'row')} of the window were set aside, so the answer is partial." if owed else text


def _exchanged(context: Context, epoch: SealedEpoch) -> str:
    """How many messages there were, until no node had one left to send."""
    conditions: list[RowCondition] = [("monitor", "=", epoch.monitor.name), ("method", "=", epoch.then.method)]
    rows = context.lake.sealed(MESSAGES, [epoch.seal], ["inbox", "messages"], conditions, ["round", "bytes"])
    if not rows.num_rows:
        return "No node sent a message: what was agreed on before still holds."
    rounds, sent = rows["round"].to_pylist(), sum(rows["bytes"].to_pylist())
    return (
        f"{counted(rows.num_rows, 'message')} of {size(sent)} in {counted(max(rounds) + 1, 'round')},"
        " until no node had one left to send."
    )


def _proof(context: Context, epoch: SealedEpoch) -> Iterator[str]:
    """What the state that publishes proves, in its method's words; of a mesh, at one of the sites."""
    method = epoch.method()
    node = next(iter(epoch.moment(context.lake, method).present), None) if method.site.publishes else COORDINATOR
    try:
        records = inspect(context, epoch.monitor.name, None, "state", node).records
    except FarwatchError as error:
        yield f"It cannot be told: {error}."
        return
    yield from (one["certificate"] for one in records if one["certificate"])


def _checked(context: Context, epoch: SealedEpoch) -> str:
    own: list[RowCondition] = [("source", "=", epoch.source.name)]
    rows = context.lake.sealed(VALIDATIONS, [epoch.seal], ["validations"], own, ["monitor", "expectation", "success"])
    mine = [row for row in rows.to_pylist() if row["monitor"] == epoch.monitor.name]
    if not mine:
        return "The rows were checked before they were sealed."
    failed = sum(1 for row in mine if not row["success"])
    names = ", ".join(sorted({row["expectation"] for row in mine})[:6])
    return f"{counted(len(mine), 'expectation')} on the rows that were sealed, {failed} failed: {names}."


def _sealed(look: ShownAnswer) -> str:
    chain, seal = look.epoch.chain, look.epoch.seal
    text = (
        f"The rows agree in number and digest with the seal {seal.digest[:12]}, which names the seal of the epoch"
        f" before; the chain has {counted(len(chain), 'epoch')}."
    )
    return f"{text} But it is {look.stale.text}." if look.stale is not None else text


def _audited(look: ShownAnswer) -> str:
    if look.audited is None:
        return f"No epoch was audited yet; `farwatch audit {look.epoch.source.name}` does it."
    return f"Exact answers were computed from all landed events: {look.audited.text}."
