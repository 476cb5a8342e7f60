"""Repaid sharing (ours): a site is told what it lacks once it has sent in vain as many bytes as that takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from monitoring_lib.methods import Moment
from monitoring_lib.network import Post
from monitoring_lib.protocols.distinct_count.sketched.coordinator import SketchCoordinator
from monitoring_lib.protocols.distinct_count.sketched.method import SketchMethod


class RepaidSharingCoordinator(SketchCoordinator):
    """Keeps a debt for each site and level: the bytes of the bits it was sent that it held already.

    A report is answered with the levels whose debt covers what the site lacks of them, and their debts are settled.
    So sharing never costs more than what was sent in vain before it.
    """

    shares = True

    def count_doubled(self, state: Any, site: str, part: Any) -> None:
        state.debts[site] = state.debts.get(site, self.form.no_debt()) + self.form.doubled(part, state.union)

    def replies(self, state: Any, moment: Moment, senders: Sequence[str]) -> Iterable[Post]:
        posts = []
        for site in senders:
            lacking = self.lacking_at(state, site)
            if lacking is None or site not in state.debts:
                continue
            part, state.debts[site] = self.form.covered(state.debts[site], lacking)
            if part is not None:
                posts.append(self.share(state, site, part))
        return posts


class RepaidSharing(SketchMethod):
    """The default: as cheap as no sharing where sites differ, and as sharing where they are alike."""

    name = "repaid-sharing"
    Coordinator = RepaidSharingCoordinator
