"""The steps of one epoch as commands: each takes the hand-over of the step before and prints its own."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.command.parameters import From, Monitors, Revise, SourceName, To, handover_of
from monitoring_lib.errors import FarwatchError, UsageError
from monitoring_lib.verbs import MEANINGS

if TYPE_CHECKING:
    from jobs.epoch.handover import Local

app = typer.Typer()

Given = Annotated[Path | None, typer.Option("--given", help="File whose last line the step before printed.")]
_PANEL = "One epoch, step by step"
_kept: dict[str, Local] = {}
"""What the last step of this process has in memory, by its hand-over: a stand-by's copy may do the next one, too."""
_FIRST = ("gate", "alert")
"""Steps that need no other one before them."""


class ChangedFile(Enum):
    """What becomes of a file that has changed since it landed."""

    replace = "replace"
    append = "append"


def _add_step(name: str, text: str) -> None:
    @app.command(name, help=text, rich_help_panel=_PANEL)
    def step(
        source: SourceName,
        start: From,
        end: To,
        monitors: Monitors = "",
        revise: Revise = "",
        given: Given = None,
    ) -> None:
        from jobs.command.run import STEPS, replay_late
        from jobs.epoch.context import Context
        from jobs.epoch.handover import GIVEN, Handover

        context = Context.from_environment()
        text = given.read_text(encoding="utf-8").splitlines()[-1] if given else os.environ.get(GIVEN, "")
        fresh = handover_of(context, source, start, end, monitors, revise)
        if not text and name not in _FIRST:
            raise UsageError(f"{name}: needs the hand-over of the step before, in {GIVEN} or by --given")
        handover = Handover.from_json(text).for_same(fresh) if text else fresh
        handover.local = _kept.pop(text, handover.local)
        _kept.clear()
        if name == "gate":
            replay_late(context, handover)
        try:
            STEPS[name](context, handover)
        except FarwatchError:
            if handover.sealed:  # what was sealed beside the monitors that failed is sealed all the same
                print(handover.to_json())
            raise
        print(handover.to_json())
        _kept[handover.to_json()] = handover.local


@app.command("land", help=f"Step 1. {MEANINGS['land']}", rich_help_panel=_PANEL)
def land(
    source: Annotated[str, typer.Option("--source", help="Name of a source in conf; with --again default: all.")] = "",
    start: From = "",
    end: To = "",
    monitors: Monitors = "",
    revise: Revise = "",
    again: Annotated[
        bool,
        typer.Option("--again", help="Read refused files and rows in quarantine again; needs no --from and --to."),
    ] = False,
    changed: Annotated[
        ChangedFile | None,
        typer.Option(help="What becomes of changed files, this time only; needs no --from and --to."),
    ] = None,
    given: Given = None,
) -> None:
    from jobs.epoch.context import Context
    from jobs.epoch.handover import Handover
    from jobs.verbs.land import land

    context = Context.from_environment()
    if again or changed:
        for name in [source] if source else sorted(context.config.sources):
            origin = context.config.source(name).origin
            land(context, Handover(name, origin, origin), again=again, changed=changed.value if changed else None)
        return
    missing = [name for name, text in (("--source", source), ("--from", start), ("--to", end)) if not text]
    if missing:
        raise UsageError(f"land: {', '.join(missing)} is missing; `farwatch land --again` alone needs none of them")
    handover = handover_of(context, source, start, end, monitors, revise)
    land(context, handover)
    print(handover.to_json())


for _number, (_name, _text) in enumerate(MEANINGS.items(), start=1):
    if _name != "land":
        _add_step(_name, f"Step {_number}. {_text}")
