"""TOPiCo: every site sends every other its candidates, in rounds, until all know the same exact list."""

from __future__ import annotations

from pydantic import Field

from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.protocols.top_k_everywhere.question import TopKEverywhere
from monitoring_lib.protocols.top_k_everywhere.topico.letters import Candidates
from monitoring_lib.protocols.top_k_everywhere.topico.peer import SURE, TopicoPeer
from monitoring_lib.topology import Mesh, Roster, Topology


class TopicoOptions(Keys):
    """How often lists are sent in an epoch, and what of them."""

    rounds: int = Field(default=SURE, ge=1, le=100, description="lists that a site may send in an epoch")
    early_stop: bool = Field(default=True, description="stop as soon as the lists prove the top k")
    changes_only: bool = Field(default=True, description="send only what has changed in a list")


class Topico(Method):
    """A mesh of peers; each one publishes its own view."""

    name = "topico"
    question = TopKEverywhere()
    Options = TopicoOptions
    letters = (Candidates,)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = TopicoPeer(ask)

    def topology(self, roster: Roster) -> Topology:
        return Mesh(roster.sites)

    def most_rounds(self, sites: int) -> int:
        return int(self.ask.options.rounds) + SURE + 2

    def continues(self, before: Ask) -> bool:
        """Lists are held whatever k and the options are; sums of another window or measure are others."""
        return (before.window, before.measure, before.scale) == (self.ask.window, self.ask.measure, self.ask.scale)
