"""TOPiCo: sites exchange short candidate lists until every one of them knows the exact top k."""

from monitoring_lib.protocols.top_k_everywhere.topico.method import Topico

__all__ = ["Topico"]
