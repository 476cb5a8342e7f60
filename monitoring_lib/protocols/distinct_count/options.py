"""What may be said of every method that sketches, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.methods import Ask, Keys
from monitoring_lib.protocols.distinct_count.sizes import (
    SketchName,
    bitmaps_needed,
    confidence_is_known,
    entries_needed,
    largest_lag,
    most_entries,
)
from monitoring_lib.synopses.fm import Estimator

Encoding = Literal["whole", "bits", "items"]


class SketchOptions(Keys):
    """The sketch, what crosses of it, and how late it may be."""

    sketch: SketchName = "fm"
    bitmaps: int | None = Field(
        default=None, gt=0, description="bitmaps of FM, entries of HLL and CPC (a power of two); default: the fewest"
    )
    estimator: Estimator = Field(default="likelihood", description="how FM's bitmaps become the published number")
    encoding: Encoding | None = Field(
        default=None, description="what sites send: whole sketches, new bits (default of fm), or an item for each bit"
    )
    lag: float = Field(default=0.0, ge=0, description="share of the count that sites may keep back, part of the error")
    seed: int = Field(default=0, ge=0)


def encoding_of(options: SketchOptions) -> Encoding:
    return options.encoding or ("bits" if options.sketch == "fm" else "whole")


def size_of(ask: Ask) -> int:
    """Bitmaps, or entries, that the sketches have."""
    return ask.options.bitmaps or needed(ask)


def needed(ask: Ask) -> int:
    """The fewest that keep the promise; more than there can be where the lag leaves nothing of the error."""
    options: SketchOptions = ask.options
    if options.lag >= largest_lag(ask.params.error):
        return 2 * most_entries(options.sketch)
    if options.sketch == "fm":
        return bitmaps_needed(ask.params.error, ask.confidence, options.lag, options.estimator == "pcsa")
    return entries_needed(options.sketch, ask.params.error, ask.confidence, options.lag)


def faults_of(ask: Ask, method: str) -> Iterable[KeyFault]:
    """What is wrong with options that are right one by one."""
    options: SketchOptions = ask.options
    path, sketch = ("options", method), options.sketch
    if options.lag >= largest_lag(ask.params.error):
        problem = f"is {options.lag:g}; it leaves nothing of `error: {ask.params.error:g}` to the sketch"
        yield KeyFault((*path, "lag"), problem, f"give less than {0.3 * ask.params.error:.3g}")
        return
    if not confidence_is_known(sketch, ask.confidence):
        problem = f"is {ask.confidence:g}; the bounds of {sketch} are known up to 0.9973"
        yield KeyFault(("confidence",), problem, "give at most 0.9973, or `sketch: fm`")
        return
    if sketch != "fm" and encoding_of(options) != "whole":
        problem = f"is {options.encoding}; the bits of {sketch} cannot be told apart"
        yield KeyFault((*path, "encoding"), problem, "give `encoding: whole`, or `sketch: fm`")
    if sketch != "fm" and options.estimator != "likelihood":
        problem = f"is {options.estimator}; {sketch} has an estimator of its own"
        yield KeyFault((*path, "estimator"), problem, "leave it out, or give `sketch: fm`")
    fewest, most = needed(ask), most_entries(sketch)
    if fewest > most:
        problem = f"is {ask.params.error:g}; {sketch} would need more than {most} bitmaps at this confidence"
        yield KeyFault(("error",), problem, "give a larger error, a smaller confidence, or `method: exact`")
    elif options.bitmaps is not None and not fewest <= options.bitmaps <= most:
        asked = f"`error: {ask.params.error:g}` at confidence {ask.confidence:g} with a lag of {options.lag:g}"
        problem = f"is {options.bitmaps}; {asked} needs {fewest} to {most}"
        yield KeyFault((*path, "bitmaps"), problem, f"give {fewest} or more, or leave it out")
    elif sketch != "fm" and options.bitmaps is not None and options.bitmaps & (options.bitmaps - 1):
        problem = f"is {options.bitmaps}; {sketch} has a power of two"
        yield KeyFault((*path, "bitmaps"), problem, f"give {1 << options.bitmaps.bit_length()}, or leave it out")
