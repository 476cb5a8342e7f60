"""The bits of Flajolet-Martin sketches, set by the JVM: a grouping by bitmap, whose words are or-ed.

Spark's arithmetic refuses to overflow, so 64-bit products are put together of halves that cannot.
"""

from __future__ import annotations

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
_HALF = (1 << 32) - 1


def with_hash(events: DataFrame, text: Column, seed: int, name: str) -> DataFrame:
    """The events with the hash of a text under a seed, as `synopses.hashes.seeded` mixes it."""
    from pyspark.sql import functions as F

    frame = events.withColumn(name, F.xxhash64(text))
    if seed == SPARK_SEED:
        return frame
    first, factor, last = map(int, draw(seed, 3))
    frame = _multiplied(frame, name, factor | 1, first * (factor | 1))
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


def _folded(frame: DataFrame, name: str, bits: int) -> DataFrame:
    from pyspark.sql import functions as F

    return frame.withColumn(name, F.col(name).bitwiseXOR(F.shiftrightunsigned(name, bits)))


def _added(frame: DataFrame, name: str, number: int) -> DataFrame:
    """Modulo 2^64."""
    from pyspark.sql import functions as F

    lower, upper = _signed_halves(number)
    sum_of_lower = f"{name} sum"
    frame = frame.withColumn(sum_of_lower, F.col(name).bitwiseAND(F.lit(_HALF)) + F.lit(lower))
    high = F.shiftright(name, 32) + F.shiftright(sum_of_lower, 32) + F.lit(upper)
    return frame.withColumn(name, _joined(high, F.col(sum_of_lower))).drop(sum_of_lower)


def _multiplied(frame: DataFrame, name: str, factor: int, added: int = 0) -> DataFrame:
    """Times a number, plus a number, modulo 2^64. An unsigned half times a signed one is below 2^63."""
    from pyspark.sql import functions as F

    (lower, upper), (added_lower, added_upper) = _signed_halves(factor), _signed_halves(added)
    low, product = f"{name} low", f"{name} product"
    frame = frame.withColumn(low, F.col(name).bitwiseAND(F.lit(_HALF)))
    frame = frame.withColumn(product, F.col(low) * F.lit(lower) + F.lit(added_lower))
    high = (
        (F.col(low) * F.lit(upper)).bitwiseAND(F.lit(_HALF)) + F.shiftright(name, 32) * F.lit(lower)
        + F.shiftright(product, 32) + F.lit(added_upper)
    )  # fmt: skip
    return frame.withColumn(name, _joined(high, F.col(product))).drop(low, product)


def _signed_halves(number: int) -> tuple[int, int]:
    """A lower and an upper half from -2^31 to 2^31 - 1 that make the number modulo 2^64."""
    lower = (number + (1 << 31) & _HALF) - (1 << 31)
    upper = ((number - lower >> 32) + (1 << 31) & _HALF) - (1 << 31)
    return lower, upper


def _joined(high: Column, low: Column) -> Column:
    """The last 32 bits of both."""
    from pyspark.sql import functions as F

    return F.shiftleft(high, 32).bitwiseOR(low.bitwiseAND(F.lit(_HALF)))
