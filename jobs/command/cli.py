"""The `farwatch` command: its verbs put together, and what it does about errors.

Each verb's module is imported when the verb is called.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Annotated, Any

import typer

from jobs.command import look_commands, run_commands, step_commands, try_commands
from monitoring_lib import __version__
from monitoring_lib.errors import ExitCode, FarwatchError, UsageError

OF_SPARK = ("deltalake", "duckdb", "great_expectations", "packaging", "pandas", "plotly", "pyspark")
"""What the extra `spark` installs."""

app = typer.Typer(
    name="farwatch",
    help="Watches what happens across many sites, epoch by epoch, without bringing the raw data to one place.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"farwatch {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the command itself; the rest is in its verbs."""


for _part in (step_commands, run_commands, look_commands, try_commands):
    app.add_typer(_part.app)


@cache
def command() -> Any:
    """The command as Click has it, made once a process."""
    return typer.main.get_command(app)


def main() -> None:
    """The entry point: errors become one sentence and the exit code of their kind."""
    try:
        command()(prog_name="farwatch", standalone_mode=True)
    except FarwatchError as error:
        _say_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in OF_SPARK:
            raise
        _say_error(UsageError(f"this command needs {error.name}; install it with: pip install 'farwatch[spark]'"))
        sys.exit(ExitCode.WRONG_USE)
    except Exception as error:
        told = _told(error)
        if told is None:
            raise
        _say_error(told)
        sys.exit(told.exit_code)


def _told(error: Exception) -> FarwatchError | None:
    """What a person is told of an error of Spark's, or over a file; None where it is a fault of ours."""
    from jobs.lake.trouble import engine_trouble, trouble

    if type(error).__module__.split(".")[0] in ("pyspark", "py4j", "grpc"):
        return engine_trouble(error)
    if isinstance(error, OSError) and error.filename:
        return trouble(str(error.filename), "read or written", error)
    return None


def _say_error(error: FarwatchError) -> None:
    from jobs.terminal.console import say

    say(f"farwatch: {error}", style="bold red")


if __name__ == "__main__":
    main()
