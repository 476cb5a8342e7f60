"""Who is told of what: the sinks of an installation, and the rules of a monitor over its own answers."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field

from monitoring_lib import expressions
from monitoring_lib.config.fields import ConditionText, Patience, Severity
from monitoring_lib.epochs import parse_duration
from monitoring_lib.expressions.evaluation import ValueKind
from monitoring_lib.key_texts import NameText
from monitoring_lib.methods import Keys

ANSWER_KINDS: dict[str, ValueKind] = {
    "estimate": "number", "low": "number", "high": "number", "rank": "number", "key": "text", "partial": "truth",
}  # fmt: skip
"""What a rule may name: the columns of an answer's rows."""


class Rule(Keys):
    """An alert over a monitor's own rows."""

    when: ConditionText = Field(description="a condition over estimate, low, high, rank, key and partial")
    key: NameText | None = Field(default=None, description="only rows with this key; by default all")
    for_: int = Field(
        default=1, ge=1, le=10_000, alias="for", description="epochs in a row before it opens, and before it closes"
    )
    severity: Severity = Field(default="warning", description="warning or critical")


class Email(Keys):
    """A mail for each alert."""

    to: list[str] = Field(min_length=1, description="addresses")
    sender: str = Field(default="farwatch@localhost", description="the address it comes from")
    host: str = Field(default="localhost", description="the mail server")
    port: int = Field(default=25, ge=1, le=65535, description="its port")
    starttls: bool = Field(default=False, description="whether the connection is encrypted")
    user: str | None = Field(default=None, description="name at the server; the password is in FARWATCH_SMTP_PASSWORD")

    @property
    def name(self) -> str:
        return f"email {', '.join(self.to)}"


class Notifier(Keys):
    """An Airflow notifier, or any class that is called with a context."""

    path: str = Field(pattern=r"^[A-Za-z_][\w.]*\.[A-Za-z_]\w*$", description="dotted path of the class")
    arguments: dict[str, Any] = Field(default_factory=dict, description="what it is made with")

    @property
    def name(self) -> str:
        return f"notifier {self.path}"


class SinkAddress(Keys):
    """`log`, `file:PATH`, or the address of a webhook."""

    address: str = Field(description="log, file:PATH or https://webhook")

    @property
    def name(self) -> str:
        """Without what may be secret in an address."""
        if not self.address.startswith("http"):
            return self.address
        known = hashlib.sha256(self.address.encode()).hexdigest()[:8]
        return f"webhook {urlsplit(self.address).hostname} {known}"


Sink = SinkAddress | Email | Notifier


def _sink(value: Any) -> Any:
    if isinstance(value, str):
        if value == "log" or re.match(r"https?://[^/\s]+", value) or re.fullmatch(r"file:[^\0]+", value):
            return SinkAddress(address=value)
        raise ValueError("is no sink; write log, file:PATH, or the https:// address of a webhook")
    if isinstance(value, dict) and set(value) == {"email"}:
        return Email.model_validate(value["email"])
    if isinstance(value, dict) and set(value) == {"notifier"}:
        return Notifier.model_validate(value["notifier"])
    if isinstance(value, SinkAddress | Email | Notifier):
        return value
    raise ValueError("is no sink; write log, file:PATH, https://…, {email: {to: [...]}} or {notifier: {path: ...}}")


class Alerts(Keys):
    """Who is told of what needs a person."""

    sinks: list[Annotated[Sink, BeforeValidator(_sink)]] = Field(
        default=[SinkAddress(address="log")],
        description="log, file:PATH, https://…, email: {...}, notifier: {...}",
    )
    remind: Patience = Field(
        default=parse_duration("1d"), description="how often what is still open is told again; 0s: never"
    )
    airflow: str | None = Field(default=None, description="address of Airflow's UI, for links to run and log")


def _rules(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


Rules = Annotated[list[Rule], BeforeValidator(_rules)]


def rule_faults(rule: Rule) -> list[tuple[str, str]]:
    """What is wrong with a rule's condition, and what to do."""
    return list(expressions.faults_of(expressions.parse_condition(rule.when), ANSWER_KINDS, condition=True))
