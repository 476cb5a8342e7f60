"""A source: where events come from, how its files are read, what its data must look like."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, StringConstraints

from monitoring_lib.config.columns import Unpivot, ValueColumn, unpivot_keys, value_keys
from monitoring_lib.config.fields import Begin, Duration, EpochCount, Name, Patience, Severity, Time
from monitoring_lib.epochs import Clock, parse_duration
from monitoring_lib.expressions import Expression, parse
from monitoring_lib.expressions.evaluation import ValueKind
from monitoring_lib.key_texts import ExpressionText
from monitoring_lib.methods import Keys
from monitoring_lib.scheduling import Scheduling
from monitoring_lib.suggest import nearest

OWN_COLUMNS = ("time", "site", "item", "value")
"""What a row of a source means; other mapped columns are carried along as texts."""

TIME_WORDS = ("auto", "seconds", "milliseconds", "microseconds")

Word = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[\w.@ -]+$")]


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("is no time zone; write a name such as UTC or Europe/Berlin") from None
    return name


def _time_format(text: str) -> str:
    if text in TIME_WORDS:
        return text
    if "%" not in text:
        raise ValueError(f"is neither a pattern such as %d/%m/%Y %H:%M nor a known word{nearest(text, TIME_WORDS)}")
    if "%Z" in text:
        raise ValueError("names of zones (%Z) mean several zones; write offsets and %z, or set `time_zone`")
    try:
        datetime.strptime("", text)
    except ValueError as error:
        if "does not match" not in str(error):
            raise ValueError("is not a pattern for times; write one such as %Y-%m-%d %H:%M:%S") from None
    return text


def _sites(value: Any) -> Any:
    if isinstance(value, list) and any(not isinstance(site, str) or not site for site in value):
        raise ValueError("holds a site that is not a text; write numbers in quotes")
    return value


def _header(value: Any) -> Any:
    if value is True:
        return value
    if not isinstance(value, list) or not value or any(not isinstance(name, str) or not name for name in value):
        raise ValueError("is neither true nor a list of names; a file without a header needs the names of its columns")
    return value


Ends = Annotated[list[Decimal | None], Field(min_length=2, max_length=2)]


class CsvOptions(Keys):
    """How a CSV file is laid out."""

    delimiter: Annotated[str, StringConstraints(min_length=1, max_length=1, pattern=r'[^"\r\n]')] = Field(
        default=",", description="the character between fields"
    )
    header: Annotated[Literal[True] | list[str], PlainValidator(_header)] = Field(
        default=True, description="true: the first line names the columns; a list: these are their names"
    )


class Volume(Keys):
    """How many rows a site may bring, against the median of its own epochs before."""

    least: float = Field(default=0, ge=0, le=1, description="share of the median below which the site fails")
    most: float | None = Field(default=None, gt=1, description="multiple of the median above which it fails")
    history: int = Field(default=24, ge=1, le=10_000, description="epochs the median is taken of")


class Drift(Keys):
    """How far a column's distribution at a site may lie from that of the whole source in the epochs before."""

    most: float = Field(gt=0, le=1, description="largest distance: the share of rows that would have to be others")
    history: int = Field(default=24, ge=1, le=1_000, description="epochs before that it is compared with")


class Severities(Keys):
    """What a failed check does: critical sets the site aside, a warning is only recorded."""

    freshness: Severity = Field(default="critical", description="of a silent site")
    volume: Severity = Field(default="critical", description="of too few or too many rows")
    nulls: Severity = Field(default="critical", description="of too many missing values")
    ranges: Severity = Field(default="critical", description="of values out of range")
    drift: Severity = Field(default="warning", description="of a column whose distribution has changed")


class Quality(Keys):
    """What is asked of the data on its way in, site by site and epoch by epoch."""

    freshness: int | None = Field(
        default=None, ge=0, description="epochs a known site may be silent before it is set aside"
    )
    volume: Volume | None = Field(default=None, description="rows of a site against its own history")
    nulls: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=dict, description="column: largest share of a site's rows without it"
    )
    ranges: dict[Literal["value"], Ends] = Field(
        default_factory=dict, description="value: [lowest, highest]; null for an open end"
    )
    drift: dict[str, Drift] = Field(
        default_factory=dict, description="column: how far its distribution may lie from the source's history"
    )
    unknown_sites: Literal["allow", "warn", "set_aside"] = Field(
        default="allow",
        description="what becomes of a site that is not in `sites` (without them: never seen)",
    )
    quarantined: float = Field(
        default=0.01, ge=0, le=1, description="largest share of a landing's rows that may be set aside without an alert"
    )
    severity: Severities = Field(default=Severities(), description="check: critical or warning")


class Late(Keys):
    """What becomes of rows of epochs that are sealed already."""

    horizon: Duration | None = Field(
        default=None, description="how far behind the last sealed epoch a row may lie; later ones go to quarantine"
    )
    revise: Literal["ask", "auto"] = Field(
        default="ask", description="ask: `status` offers the replay; auto: the next run replays from there first"
    )


class Airflow(Keys):
    """How the scheduler runs a source: no answer depends on it."""

    catchup: bool = Field(
        default=Scheduling.catchup, strict=True, description="every interval since the origin is run, not only the last"
    )
    retries: int = Field(
        default=Scheduling.retries, ge=0, le=100, strict=True, description="further tries of a step worth retrying"
    )
    retry_delay: Patience = Field(
        default=parse_duration(Scheduling.retry_delay), description="pause before a further try"
    )
    timeout: Duration = Field(
        default=parse_duration(Scheduling.timeout), description="longest time that one step may take"
    )
    pool: Word = Field(default=Scheduling.pool, description="Airflow's pool that the steps take a slot of")
    owner: Word = Field(default=Scheduling.owner, description="who is shown as the owner of the DAG")
    audit: Duration = Field(
        default=parse_duration(Scheduling.audit),
        description="how often sealed answers are audited",
    )
    maintain: Duration = Field(
        default=parse_duration(Scheduling.maintain), description="how often the tables are compacted and cleaned"
    )


class Source(Keys):
    """Where events come from, with its epoch length. Durations and times are microseconds."""

    name: Name = Field(description="by default the name of the file")
    format: Literal["csv", "json", "parquet", "delta"] = Field(description="of the files; json means JSON lines")
    path: str = Field(min_length=1, description="pattern of the files: * ? [..] in a name, ** for folders")
    columns: dict[str, ExpressionText] = Field(description="time, site, item, value, others: column or expression")
    values: dict[str, Annotated[ValueColumn, BeforeValidator(value_keys)]] = Field(
        default_factory=dict, description="further values: name to column, expression, or {column, scale}"
    )
    unpivot: Annotated[Unpivot | None, BeforeValidator(unpivot_keys)] = Field(
        default=None, description="columns each of which is an event of its own: c0..c287"
    )
    epoch: Duration = Field(description="the unit of answers and seals")
    tick: Duration = Field(
        default_factory=lambda data: data["epoch"], description="the finest unit of time inside an epoch; divides it"
    )
    origin: Time = Field(description="where epoch 0 starts")
    schedule: Duration = Field(
        default_factory=lambda data: data["epoch"], description="what one scheduled run covers; whole epochs"
    )
    time_format: Annotated[str, AfterValidator(_time_format)] = Field(
        default="auto", description="auto (ISO 8601 or seconds since 1970), a unit, or a strptime pattern"
    )
    time_zone: Annotated[str, AfterValidator(_zone)] = Field(
        default="UTC", description="of times that name none themselves"
    )
    repeated_hour: Literal["fault", "first", "second"] = Field(
        default="fault", description="what a time means that the zone has twice, when clocks go back"
    )
    scale: int = Field(default=1, ge=1, le=10**9, description="values are kept as whole numbers: value times this")
    skew: Patience = Field(
        default_factory=lambda data: data["epoch"], description="how far ahead of the run a row may lie"
    )
    deadline: Patience | None = Field(
        default=None, description="how long after its end an epoch must be sealed, or `status --check` fails"
    )
    csv: CsvOptions = Field(default=CsvOptions(), description="how CSV files are laid out")
    changed_files: Literal["refuse", "replace", "append"] = Field(
        default="refuse", description="what becomes of a file that has changed since it landed"
    )
    land: Literal["copy", "reference"] = Field(
        default="copy", description="copy events, or read them where their files are (parquet, delta)"
    )
    settle: Patience = Field(default=0, description="how long a file must have been still before it lands")
    begin: Begin = Field(
        default="origin", description="the first epoch of a monitor: the origin, the first with events, or a time"
    )
    sites: Annotated[list[str] | None, BeforeValidator(_sites)] = Field(
        default=None, description="the sites that are expected"
    )
    late: Late = Field(default=Late(), description="what becomes of rows of epochs that are sealed already")
    quality: Quality = Field(default=Quality(), description="what is asked of the data on its way in")
    retire: EpochCount | None = Field(
        default=None, description="epochs after which a site that is silent and set aside has left: 30 epochs"
    )
    airflow: Airflow = Field(default=Airflow(), description="how the scheduler runs it")

    @cached_property
    def clock(self) -> Clock:
        return Clock(self.origin, self.epoch)

    @cached_property
    def expressions(self) -> dict[str, Expression]:
        return {name: parse(text) for name, text in self.columns.items()}

    @cached_property
    def value_expressions(self) -> dict[str, Expression]:
        """Those of the further values."""
        return {name: parse(value.column) for name, value in self.values.items()}

    @property
    def fields(self) -> tuple[str, ...]:
        """The text columns besides site and item, sorted."""
        named = {self.unpivot.name} if self.unpivot is not None and self.unpivot.name else set()
        return tuple(sorted((set(self.columns) - set(OWN_COLUMNS)) | named))

    @cached_property
    def scales(self) -> dict[str, int]:
        """The value columns of an event: what each is multiplied by to be whole."""
        own = {"value": self.scale} if "value" in self.columns or self.unpivot is not None else {}
        return own | {name: value.scale or self.scale for name, value in self.values.items()}

    @cached_property
    def kinds(self) -> dict[str, ValueKind]:
        """The columns of an event that expressions may name, and what they hold."""
        texts = {*self.fields, *({"site", "item"} & set(self.columns))}
        return {**dict.fromkeys(self.scales, "number"), **dict.fromkeys(sorted(texts), "text")}

    @property
    def step(self) -> int:
        """The time between two columns of a wide row."""
        return (self.unpivot.step if self.unpivot is not None else None) or self.tick
