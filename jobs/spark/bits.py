"""The bits of Flajolet-Martin sketches, set by the JVM: a grouping by bitmap, whose words are or-ed.

Spark's arithmetic refuses to overflow, so 64-bit products are put together of halves that cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from monitoring_lib.hashing import SPARK_SEED, draw
from monitoring_lib.summaries import HashBits
from monitoring_lib.synopses.hashes import MIX_1, MIX_2

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BIT, SAMPLE = "bit", "sample"
"""What a row sets, and a text of its bitmap: its hash with the text's length in the place of the last bits."""
LONGEST = (1 << 12) - 1
"""The longest text that a sample tells from longer ones."""
_HALF, _QUARTER = (1 << 32) - 1, (1 << 16) - 1


def with_hash(events: DataFrame, text: Column, seed: int, name: str) -> DataFrame:
    """The events with the hash of a text under a seed, as `synopses.hashes.seeded` mixes it."""
    from pyspark.sql import functions as F

    frame = events.withColumn(name, F.xxhash64(text))
    if seed == SPARK_SEED:
        return frame
    first, factor, last = map(int, draw(seed, 3))
    frame = _multiplied(_added(frame, name, first), name, factor | 1)
    frame = _added(_folded(frame, name, 32), name, last)
    frame = _multiplied(_folded(frame, name, 30), name, int(MIX_1))
    frame = _multiplied(_folded(frame, name, 27), name, int(MIX_2))
    return _folded(frame, name, 31)


def bitmap_of(bits: HashBits, name: str) -> Column:
    """The number of the bitmap that a hash chooses."""
    from pyspark.sql import functions as F

    return F.shiftrightunsigned(F.shiftrightunsigned(name, 32) * F.lit(bits.bitmaps), 32)


def bit_of(bits: HashBits, name: str) -> Column:
    from pyspark.sql import functions as F

    low = F.col(name).bitwiseAND(F.lit(_HALF)).bitwiseOR(F.lit(1 << (bits.levels - 1)))
    return low.bitwiseAND(-low)


def sample_of(name: str, letters: Column) -> Column:
    from pyspark.sql import functions as F

    length = F.least(letters, F.lit(LONGEST)).cast("bigint")
    return F.col(name).bitwiseAND(F.lit(~LONGEST)).bitwiseOR(length)


def aggregates() -> Sequence[Column]:
    """Of a bitmap: its word, and the text with the smallest hash, a uniform choice among its different ones."""
    from pyspark.sql import functions as F

    return [F.bit_or(BIT).alias(BIT), F.min(SAMPLE).alias(SAMPLE)]


def _folded(frame: DataFrame, name: str, bits: int) -> DataFrame:
    from pyspark.sql import functions as F

    return frame.withColumn(name, F.col(name).bitwiseXOR(F.shiftrightunsigned(name, bits)))


def _added(frame: DataFrame, name: str, number: int) -> DataFrame:
    """Modulo 2^64."""
    from pyspark.sql import functions as F

    low = f"{name} low"
    frame = frame.withColumn(low, F.col(name).bitwiseAND(F.lit(_HALF)) + F.lit(number & _HALF))
    high = F.shiftrightunsigned(name, 32) + F.lit(number >> 32) + F.shiftrightunsigned(low, 32)
    return frame.withColumn(name, _joined(high, F.col(low))).drop(low)


def _multiplied(frame: DataFrame, name: str, number: int) -> DataFrame:
    """Modulo 2^64: halves of the hash times quarters of the number."""
    from pyspark.sql import functions as F

    quarters = [number >> shift & _QUARTER for shift in (0, 16, 32, 48)]
    low, high, second, lower = (f"{name} {part}" for part in ("low", "high", "second", "lower"))
    frame = frame.withColumns(
        {low: F.col(name).bitwiseAND(F.lit(_HALF)), high: F.shiftrightunsigned(name, 32)}
    ).withColumn(second, F.col(low) * quarters[1])
    frame = frame.withColumn(lower, F.col(low) * quarters[0] + _raised(F.col(second)))
    upper = (
        F.shiftrightunsigned(lower, 32) + F.shiftrightunsigned(second, 16)
        + F.col(low) * quarters[2] + _raised(F.col(low) * quarters[3])
        + F.col(high) * quarters[0] + _raised(F.col(high) * quarters[1])
    )  # fmt: skip
    return frame.withColumn(name, _joined(upper, F.col(lower))).drop(low, high, second, lower)


def _raised(product: Column) -> Column:
    """Its last 16 bits, times 2^16: what is above leaves the half, or is added elsewhere."""
    from pyspark.sql import functions as F

    return F.shiftleft(product.bitwiseAND(F.lit(_QUARTER)), 16)


def _joined(high: Column, low: Column) -> Column:
    from pyspark.sql import functions as F

    return F.shiftleft(high, 32).bitwiseOR(low.bitwiseAND(F.lit(_HALF)))
