"""A quick start: pyarrow would load pandas at the first value it is shown, which no look at a table needs."""

from __future__ import annotations

import sys


class _NoPandas:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"{name} is not looked for now", name=name)


def spare_pandas() -> None:
    """Has pyarrow look for pandas now, once and in vain; everyone else can import it as ever."""
    import pyarrow as pa

    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(_NoPandas)
