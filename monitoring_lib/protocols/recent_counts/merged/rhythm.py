"""When sketches are merged: every so many epochs, and as soon as an answer can be whole again."""

from __future__ import annotations

from monitoring_lib.methods import Moment


def merges(moment: Moment, every: int, owed_before: bool) -> bool:
    """Whether this epoch ends with a merge, as every present node knows without being told.

    Between two merges the answer is that of the last one. A site that joins or is back, and the end of what was
    owed, bring the next merge forward: an answer that lacked something is not repeated once nothing lacks. A node
    that did not see the epoch before, and so cannot know `owed_before`, is itself among those that are back.
    """
    return moment.epoch % every == 0 or bool(moment.returning) or (owed_before and not moment.owed)
