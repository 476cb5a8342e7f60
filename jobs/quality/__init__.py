"""What Great Expectations is asked: of the sites' data on the way in, of the tables' rows on the way out."""

from jobs.quality.declared import check_rows
from jobs.quality.drift import buckets_of
from jobs.quality.sites import check_sites
from jobs.quality.standing import history_epochs
from jobs.quality.statistics import (
    BUCKETS,
    bucket_column,
    lacking,
    placement_column,
    statistics_schema,
)

__all__ = [
    "BUCKETS", "bucket_column", "buckets_of",
    "check_rows", "check_sites", "history_epochs", "lacking", "placement_column", "statistics_schema",
]  # fmt: skip
