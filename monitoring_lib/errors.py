"""Every error a user can meet, and the exit code each one ends the command with.

FarwatchError
├── UsageError                 2  a wrong argument, an unknown name
│   └── ConfigError            2  faults of configuration files, all of them at once
├── DataError                  2  an input file that cannot be landed as it is
├── CheckFailed                1  a finding, not a malfunction
│   ├── PromiseBroken          1  an answer outside what its monitor promises
│   ├── ExpectationFailed      1  an expectation or a protocol invariant did not hold
│   ├── ProtocolError          1  a node broke the rules: unknown edge, endless rounds, changed replay
│   ├── CodecError             1  an image that is truncated, corrupt, too large or of another version
│   └── DamagedTable           1  a table does not hold the rows that its seals name
├── Transient                  3  worth trying again
│   ├── StorageError           3  a table could not be read or written
│   └── SparkUnavailable       3  no session could be had
└── NotNow                     4  right request, wrong moment
    ├── EpochGapError          4  the epoch before this one is not sealed
    └── AlreadySealed          4  another write is the truth of this epoch
"""
# ruff: noqa: N818  # names that a user reads as sentences: already sealed, not now

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the `farwatch` command ends with; Airflow retries RETRY only."""

    DONE = 0
    FAILED = 1
    WRONG_USE = 2
    RETRY = 3
    NOT_NOW = 4


class FarwatchError(Exception):
    """Base of all errors of this project; its message says what was wrong, where, and what to do."""

    exit_code = ExitCode.FAILED


class UsageError(FarwatchError):
    """The command or a call was asked for something that cannot be."""

    exit_code = ExitCode.WRONG_USE


class ConfigError(UsageError):
    """One or more faults of configuration files."""


class DataError(FarwatchError):
    """What has come in cannot be used as it is: a file that cannot be landed, sums that no method can hold."""

    exit_code = ExitCode.WRONG_USE


class CheckFailed(FarwatchError):
    """A check found what must not be."""


class PromiseBroken(CheckFailed):
    """A published answer lies outside its promise."""


class ExpectationFailed(CheckFailed):
    """Data quality or a protocol invariant failed."""


class ProtocolError(CheckFailed):
    """A node did what its protocol does not allow."""


class CodecError(CheckFailed):
    """An image cannot be decoded."""


class DamagedTable(CheckFailed):
    """Rows that a seal names are gone, doubled or changed."""


class Transient(FarwatchError):
    """Trying again later may help."""

    exit_code = ExitCode.RETRY


class StorageError(Transient):
    """A table could not be read or written."""


class SparkUnavailable(Transient):
    """No Spark session could be had."""


class NotNow(FarwatchError):
    """Nothing is wrong with the request but its moment."""

    exit_code = ExitCode.NOT_NOW


class EpochGapError(NotNow):
    """The epoch before the first one asked for is not sealed."""


class AlreadySealed(NotNow):
    """The epoch is sealed by another write."""
