"""The small language of `columns`, `item` and `by` (which text a row gives) and of `where` (which rows count).

Texts: a column name, ``'a text'``, ``concat(a, b, ...)``, ``lower(x)``, ``upper(x)``, ``prefix(x, n)``,
``coalesce(x, ...)`` and ``length(x)``, in digits. A text that holds none of ``( ) , ' ``` ` ``` is a column name as it
stands; inside an expression, a name with other characters than letters, digits and _ stands in backquotes. Quotes and
backquotes are doubled where they are meant.

Numbers: ``10.5``, a value column, ``length(x)`` and ``number(x)``. Conditions: ``= != < <= > >=`` between two
texts or two numbers, ``x is null``, ``x is not null``, ``x in ('a', 'b')``, ``starts_with(x, 'text')``, and
``and``, ``or``, ``not`` and brackets around them. They are true, false or unknown, as in SQL; what is not true
does not count.

Every engine must give the same, so the functions are chosen to leave nothing to it: `lower` and `upper` turn A to
Z only, `prefix` and `length` count code points, texts compare by code point, numbers exactly. `concat` of a missing
part is missing, `coalesce` is its first part that is there. `number` reads digits with a sign and a point, at most 18
digits on either side of it; another text is no number.
"""

from monitoring_lib.expressions.checking import faults_of, numbers_in
from monitoring_lib.expressions.evaluation import Values, evaluate, holds
from monitoring_lib.expressions.nodes import (
    Among,
    Call,
    ColumnName,
    Compare,
    Comparison,
    Condition,
    Expression,
    IsNull,
    Joined,
    Measured,
    Not,
    Number,
    Operand,
    StartsWith,
    Text,
)  # fmt: skip
from monitoring_lib.expressions.parsing import DEEPEST_NESTING, FUNCTIONS, LONGEST_TEXT, parse, parse_condition

__all__ = [
    "DEEPEST_NESTING", "FUNCTIONS", "LONGEST_TEXT", "Among", "Call", "ColumnName", "Compare", "Comparison", "Condition",
    "Expression", "IsNull", "Joined", "Measured", "Not", "Number", "Operand", "StartsWith", "Text", "Values",
    "evaluate", "faults_of", "holds", "numbers_in", "parse", "parse_condition",
]  # fmt: skip
