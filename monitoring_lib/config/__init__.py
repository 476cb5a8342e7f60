"""Configuration: models without unknown keys, overlays by environment, all faults of all files at once."""

from monitoring_lib.config.alerting import Alerts, Email, Notifier, Rule
from monitoring_lib.config.columns import Unpivot, ValueColumn
from monitoring_lib.config.files import (
    check_together,
    faults,
    load,
    parse_monitor,
    parse_source,
    read_monitor,
    said_by,
)
from monitoring_lib.config.meaning import Config, meaning_of
from monitoring_lib.config.monitor import Monitor, MonitorKeys
from monitoring_lib.config.settings import Settings, Spark, Storage
from monitoring_lib.config.source import Airflow, CsvOptions, Drift, Late, Quality, Severities, Source, Volume
from monitoring_lib.documents.faults import Fault, fault_lines
from monitoring_lib.documents.folder import folder_and_environment

__all__ = [
    "Airflow",
    "Alerts",
    "Config",
    "CsvOptions",
    "Drift",
    "Email",
    "Fault",
    "Late",
    "Monitor",
    "MonitorKeys",
    "Notifier",
    "Quality",
    "Rule",
    "Settings",
    "Severities",
    "Source",
    "Spark",
    "Storage",
    "Unpivot",
    "ValueColumn",
    "Volume",
    "check_together",
    "fault_lines",
    "faults",
    "folder_and_environment",
    "load",
    "meaning_of",
    "parse_monitor",
    "parse_source",
    "read_monitor",
    "said_by",
]
