"""One word, one meaning: a type, or a function that is called by its bare name, has its name for itself."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("monitoring_lib", "jobs", "farwatch_airflow", "dags")
FAMILIES = "monitoring_lib.protocols."
ROLES = {
    "CoordinatorState": "what the coordinator of a method remembers",
    "SiteState": "what a site of a method remembers",
    "Exact": "the baseline that sends every item",
    "ExactOptions": "the options of that baseline",
    "EveryUpdate": "the baseline that sends every event",
    "Updates": "its letter",
    "TellingSite": "the site of a baseline that sends all it has",
    "TellingState": "the state of such a site",
    "NewBits": "the letter with bits that the receiver does not know",
    "Query": "one entry of a monitor's `queries`",
}
"""Roles that several methods have: a name in the same place with the same meaning. Nothing else stands twice."""


def names_of_types(path: Path) -> Iterator[str]:
    """Classes, and names given to types; a private one is the same word. A TypeVar means nothing outside its file."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            yield node.name.lstrip("_")
        elif isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name):
            is_variable = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "TypeVar"
            if re.fullmatch(r"_?[A-Z]\w*[a-z]\w*", target.id) and not is_variable:
                yield target.id.lstrip("_")


def types() -> dict[str, list[str]]:
    """The modules in which each name of a type stands."""
    found: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in names_of_types(path):
                found[name].append(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return found


def test_no_two_types_share_a_name_but_for_the_roles_of_methods() -> None:
    twice = {name: modules for name, modules in types().items() if len(modules) > 1}
    assert {name: modules for name, modules in twice.items() if name not in ROLES} == {}
    outside = {
        name: modules for name, modules in twice.items() if not all(module.startswith(FAMILIES) for module in modules)
    }
    assert outside == {}


def imported_functions() -> dict[str, set[str]]:
    """The modules of which each function is imported by its bare name; a family's functions are its own affair."""
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(path.read_text(encoding="utf-8"))
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }
    defined = {
        (name, node.name) for name, tree in modules.items() for node in tree.body if isinstance(node, ast.FunctionDef)
    }
    found: dict[str, set[str]] = defaultdict(set)
    for tree in modules.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith(FAMILIES):
                for one in node.names:
                    if one.asname is None and (node.module, one.name) in defined:
                        found[one.name].add(node.module)
    return found


def test_a_function_that_is_called_by_its_bare_name_has_it_for_itself() -> None:
    """Elsewhere the module's name goes before it: `report.show`."""
    found = imported_functions()
    assert len(found) > 100
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {}


def test_every_listed_role_is_in_use() -> None:
    assert {name for name, modules in types().items() if len(modules) > 1} == set(ROLES)
