"""Prints the longest chain of imports inside the project: `.venv/bin/python tools/import_chain.py`.

A long chain means that a change at its end can reach far; a cycle would have no longest chain, and is refused by
name. Imports that only types need do not count.
"""

from __future__ import annotations

import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

PACKAGES = ("monitoring_lib", "jobs", "farwatch_airflow", "dags")


def longest_chain(imports: dict[str, set[str]]) -> list[str]:
    """The modules of the longest chain, the importer first; of chains as long, the first by name."""
    tuple(TopologicalSorter(imports).static_order())  # a cycle ends here

    @cache
    def below(module: str) -> tuple[str, ...]:
        chains = (below(imported) for imported in sorted(imports[module]))
        return (module, *max(chains, key=len, default=()))

    return list(max((below(module) for module in sorted(imports)), key=len))


def main() -> int:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        chain = longest_chain(imports)
    except CycleError as error:
        print("These modules import each other: " + " -> ".join(error.args[1]), file=sys.stderr)
        return 1
    print(f"{len(chain)} modules of {len(imports)}: " + " -> ".join(chain))
    return 0


if __name__ == "__main__":
    sys.exit(main())
