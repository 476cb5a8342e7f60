"""What the methods that sketch have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.methods import Ask, Method
from monitoring_lib.network import Letter
from monitoring_lib.protocols.distinct_count.options import SketchOptions, encoding_of, faults_of, size_of
from monitoring_lib.protocols.distinct_count.question import DistinctCount
from monitoring_lib.protocols.distinct_count.sketched.bitmaps import BitmapForm
from monitoring_lib.protocols.distinct_count.sketched.coordinator import SketchCoordinator
from monitoring_lib.protocols.distinct_count.sketched.form import Form
from monitoring_lib.protocols.distinct_count.sketched.images import ImageForm
from monitoring_lib.protocols.distinct_count.sketched.letters import BitItems, Bits, Whole
from monitoring_lib.protocols.distinct_count.sketched.site import SketchSite
from monitoring_lib.protocols.distinct_count.summaries import summary_of
from monitoring_lib.summaries import Summary


class SketchMethod(Method):
    """Sites sketch their items; the coordinator holds the union of what they have sent."""

    question = DistinctCount()
    Options = SketchOptions
    letters: ClassVar[tuple[type[Letter], ...]] = (Bits, Whole, BitItems)
    needs_expiring = False
    Site: ClassVar[type[SketchSite]] = SketchSite
    Coordinator: ClassVar[type[SketchCoordinator]] = SketchCoordinator

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        form: Form[Any] = BitmapForm(ask) if ask.options.sketch == "fm" else ImageForm(ask)
        self.site = self.Site(ask, form)
        self.inner = self.Coordinator(ask, form)

    def summary(self) -> Summary:
        return summary_of(self.ask)

    def faults(self) -> Iterable[KeyFault]:
        return faults_of(self.ask, self.name)

    def continues(self, before: Ask) -> bool:
        """States hold sketches, whatever is promised of them; names that wait to be sent are held for items only."""
        return _made(before) == _made(self.ask)


def _made(ask: Ask) -> tuple[Any, ...]:
    options = ask.options
    return ask.window, options.sketch, size_of(ask), options.seed, encoding_of(options) == "items"
