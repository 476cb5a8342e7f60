"""What the methods of this family have in common."""

from __future__ import annotations

from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.topk.question import TopK


class TopKMethod(Method):
    """A method whose states go on when k, the tolerance or its options change, but not what is summed."""

    question = TopK()

    def continues(self, before: Ask) -> bool:
        return (
            before.window == self.ask.window
            and before.scale == self.ask.scale
            and before.measure == self.ask.measure
            and before.params.order == self.ask.params.order
            and before.params.signed == self.ask.params.signed
        )
