"""Requery: a baseline that asks for the answer anew whenever a site has changed."""

from monitoring_lib.protocols.topk.requery.method import Requery

__all__ = ["Requery"]
