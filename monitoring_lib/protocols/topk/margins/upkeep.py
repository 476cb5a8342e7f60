"""Margins, once an epoch has settled: what need not be told in future, as thresholds and widths."""

from __future__ import annotations

from collections.abc import Mapping

from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import Post
from monitoring_lib.protocols.topk.margins.bounds import Evidence, SumBounds
from monitoring_lib.protocols.topk.margins.letters import ItemWidths, Raise
from monitoring_lib.protocols.topk.margins.state import MarginsCoordinatorState
from monitoring_lib.protocols.topk.question import within_share
from monitoring_lib.protocols.topk.sums import keeps_zeros

FIRST_WAIT, LONGEST_WAIT = 2, 64
"""Epochs in which an item must speak unasked before it is granted a width; each poll triples it."""


def raise_thresholds(ask: Ask, state: MarginsCoordinatorState, moment: Moment, bounds: SumBounds) -> list[Post]:
    """Lets the thresholds add up to the share `untracked` of the k-th total, once they are well below that.

    Sites get them by what they told so far, so that a busy site keeps more to itself. None is lowered. What
    falls below its site's threshold and is no member's is forgotten at both ends.
    """
    kth = state.totals[-1] if len(state.totals) == ask.params.k else 0
    goal = int(ask.options.untracked * kth)
    if 5 * bounds.untold >= 4 * goal:
        return []
    weights = dict.fromkeys(moment.present, 0)
    for (site, _), copy in state.copies.items():
        if site in weights:
            weights[site] += abs(copy)
    present = {site: bounds.threshold(site) for site in weights}
    raised = filled(present, weights, goal - (bounds.untold - sum(present.values())))
    if not raised:
        return []
    members = set(state.names)
    kept: dict[str, list[str]] = {site: [] for site in raised}
    for (site, name), copy in list(state.copies.items()):
        if site in raised and abs(copy) + bounds.width(site, name) <= raised[site]:
            if name in members:
                kept[site].append(name)
            else:
                bounds.forget(site, name)
    state.thresholds.update(raised)
    return [Post(site, Raise(level, sorted(kept[site])), "upkeep") for site, level in sorted(raised.items())]


def filled(levels: Mapping[str, int], weights: Mapping[str, int], goal: int) -> dict[str, int]:
    """The levels that rise when each becomes at least c times its weight, with all of them adding up to the goal."""
    rising = sorted((site for site in levels if weights[site]), key=lambda s: (-levels[s] / weights[s], s))
    room = goal - sum(level for site, level in levels.items() if not weights[site])
    weight = sum(weights[site] for site in rising)
    while rising and levels[rising[0]] * weight >= room * weights[rising[0]]:  # already above its part
        site = rising.pop(0)
        room -= levels[site]
        weight -= weights[site]
    parts = {site: room * weights[site] // weight for site in rising}
    return {site: part for site, part in parts.items() if part > levels[site]}


def grant_widths(ask: Ask, state: MarginsCoordinatorState, evidence: Evidence) -> list[Post]:
    """Pairs that keep on speaking unasked get a width: a share of their item's distance from the border.

    The border lies midway between the k-th total and the best outsider's.
    """
    if not ask.options.granted or not evidence.unasked:
        return []
    bounds = evidence.bounds
    spoke: dict[str, list[str]] = {}
    for site, name in evidence.unasked:
        if (site, name) in state.copies:
            spoke.setdefault(name, []).append(site)
    sign = -1 if keeps_zeros(ask) else 1
    ahead = bounds.best(ask.params.k + 1)
    members = {name for name, _ in ahead[: ask.params.k]}
    kth = ahead[ask.params.k - 1][1] if len(ahead) >= ask.params.k else 0
    twice_border = kth + (ahead[ask.params.k][1] if len(ahead) > ask.params.k else 0)
    granted: dict[str, dict[str, int]] = {}
    for name, sites in spoke.items():
        item = bounds.items[name]
        if state.spoken.add(name, 1) < (state.waits.get(name) or FIRST_WAIT):
            continue
        twice_margin = sign * (2 * item.total - twice_border)
        if name not in members:
            twice_margin = -twice_margin - 2 * (bounds.untold - item.covered)
        if twice_margin <= 0:
            continue
        width = int(ask.options.granted * twice_margin / (2 * len(item.sites)))
        spread = item.high - item.total
        apart = bounds.high(name) - bounds.low(name)
        for site in sorted(sites):
            before = bounds.width(site, name)
            if width > before and width >= 2 * before and 20 * (spread + width - before) <= 9 * twice_margin:
                apart += 2 * (width - before)
                if name in members and not within_share(ask, item.total, apart):
                    break  # it would have to be polled for its total
                spread += width - before
                bounds.set_width(site, name, width)
                granted.setdefault(site, {})[name] = width
    return [
        Post(site, ItemWidths(sorted(widths), [widths[name] for name in sorted(widths)]), "far from the border")
        for site, widths in sorted(granted.items())
    ]
