"""Configuration: models without unknown keys, overlays by environment, all faults of all files at once."""

from monitoring_lib.config.faults import Fault, lines_of
from monitoring_lib.config.files import (
    check_together,
    faults,
    load,
    locate,
    parse_monitor,
    parse_source,
    read_monitor,
)
from monitoring_lib.config.meaning import Config, meaning_of
from monitoring_lib.config.monitor import Monitor, MonitorKeys
from monitoring_lib.config.settings import Alerts, Settings, Spark, Storage
from monitoring_lib.config.source import CsvOptions, Quality, Severities, Source, Volume

__all__ = [
    "Alerts",
    "Config",
    "CsvOptions",
    "Fault",
    "Monitor",
    "MonitorKeys",
    "Quality",
    "Settings",
    "Severities",
    "Source",
    "Spark",
    "Storage",
    "Volume",
    "check_together",
    "faults",
    "lines_of",
    "load",
    "locate",
    "meaning_of",
    "parse_monitor",
    "parse_source",
    "read_monitor",
]
