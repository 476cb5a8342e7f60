"""What Great Expectations is asked: of the sites' data on the way in, of the tables' rows on the way out."""

from jobs.quality.declared import check_rows
from jobs.quality.sites import check_sites
from jobs.quality.standing import history_epochs
from jobs.quality.statistics import statistics_schema

__all__ = ["check_rows", "check_sites", "history_epochs", "statistics_schema"]
