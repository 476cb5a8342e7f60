"""Why an answer is valid, in sentences: the promise, who took part, the proof that the method keeps, and the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jobs.epoch.context import Context
from jobs.lake.store import Condition
from jobs.looking.answer import ShownAnswer
from jobs.looking.inspection import inspect
from jobs.looking.sealed import SealedEpoch
from jobs.terminal.wording import counted, number, size
from monitoring_lib.errors import FarwatchError, UsageError
from monitoring_lib.network import COORDINATOR
from monitoring_lib.tables import MESSAGES, VALIDATIONS

State = Mapping[str, Any]
_PARTS = 1024
"""Of a unit of the measure, in which widths and factors are counted."""


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
    known, missing = len(look.epoch.chain.sites), len(look.epoch.seal.missing_sites)
    text = f"{known - missing:,} of {counted(known, 'site')} took part in the epoch."
    if missing:
        text += " The promise holds as of each missing site's last report."
    owed = sum(one.rows for one in look.set_aside)
    return f"{text} {counted(owed, 'row')} of the window were set aside, so the answer is partial." if owed else text


def _exchanged(context: Context, epoch: SealedEpoch) -> str:
    """How many messages there were, until no node had one left to send."""
    conditions: list[Condition] = [("monitor", "=", epoch.monitor.name), ("method", "=", epoch.then.method)]
    rows = context.lake.sealed(MESSAGES, [epoch.seal], ["inbox", "messages"], conditions, ["round", "bytes"])
    if not rows.num_rows:
        return "No node had anything to say: what was agreed on before still holds."
    rounds, sent = rows["round"].to_pylist(), sum(rows["bytes"].to_pylist())
    return (
        f"{counted(rows.num_rows, 'message')} of {size(sent)} in {counted(max(rounds) + 1, 'round')},"
        " until no node had one left to send."
    )


def _proof(context: Context, epoch: SealedEpoch) -> Iterator[str]:
    """What the coordinator's state proves, where the method keeps a certificate."""
    try:
        states = inspect(context, epoch.monitor.name, None, "state", COORDINATOR).records
    except UsageError:  # its network has no coordinator
        return
    except FarwatchError as error:
        yield f"It cannot be told: {error}."
        return
    for state in (one["content"] for one in states):
        for needed, words in _CERTIFICATES.items():
            if all(state.get(name) is not None for name in needed):
                yield words(state, epoch.source_then.scale if epoch.then.measure != "count" else 1)


def _margins(state: State, scale: int) -> str:
    outside, inside = (number(state[name] / scale) for name in ("outsider_high", "member_low"))
    excess = state.get("excess") or 0
    lacking = f"sites are missing, so that the difference may be up to {number(excess / scale)}"
    return (
        f"By what the sites have told, no item outside the list exceeds {outside}, and none in it lies below"
        f" {inside}: {lacking if excess else 'the difference is within the tolerance'}."
    )


def _constraints(state: State, scale: int) -> str:
    slacks = state["slacks"]
    least = min((dict(slacks) if not isinstance(slacks, Mapping) else slacks).values(), default=0)
    return (
        f"At each of {counted(len(slacks), 'node')} the lowest member lies above the highest outsider, adjusted by"
        f" factors that sum to zero; where it is tightest, by {number(least / _PARTS / scale)}."
    )


def _filters(state: State, scale: int) -> str:
    return (
        f"{counted(len(state['names']), 'object')} have promised to speak as soon as a value leaves its filter; the"
        f" widths of the filters add up to {number(sum(state['widths']) / _PARTS / scale)}."
    )


_CERTIFICATES: Mapping[tuple[str, ...], Callable[[State, int], str]] = {
    ("member_low", "outsider_high"): _margins,
    ("slacks",): _constraints,
    ("widths", "centres", "homes"): _filters,
}
"""By the fields of a state that prove an answer, how they are told."""


def _checked(context: Context, epoch: SealedEpoch) -> str:
    own: list[Condition] = [("source", "=", epoch.source.name)]
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
