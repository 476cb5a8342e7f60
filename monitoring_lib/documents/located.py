"""YAML that remembers the file and line of every value, and overlays that keep it so.

Only what configuration needs is read: mappings, lists, texts, whole and decimal numbers, true, false, null.
Dates stay texts, words such as `no` and `on` too; anchors, tags and repeated keys are faults.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any

import yaml

from monitoring_lib.documents.faults import NOTHING, Fault, Path, dotted, shown

LARGEST_FILE = 1_000_000
DEEPEST_NESTING = 20


@dataclass(frozen=True, slots=True)
class Position:
    file: str
    line: int | None


@dataclass
class Located:
    """A value as read from one file, or from several laid over each other."""

    value: Any
    positions: dict[Path, Position]

    def position_of(self, path: Path) -> Position:
        """Where a value was written; for a missing one, where what should hold it begins."""
        while path not in self.positions:
            path = path[:-1]
        return self.positions[path]

    def fault(self, path: Path, problem: str, remedy: str = "") -> Fault:
        position = self.position_of(path)
        return Fault(position.file, position.line, dotted(path), shown(path, self._at(path)), problem, remedy)

    def _at(self, path: Path) -> Any:
        value = self.value
        for part in path:
            held = value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
            if part not in held:
                return NOTHING
            value = held[part]
        return NOTHING if isinstance(value, dict) else value


def from_no_file(value: Any, where: str) -> Located:
    """A value that came from no file, such as options of a command."""
    return Located(value, {(): Position(where, None)})


def overlay(base: Located, top: Located) -> Located:
    """The base with the top over it: mappings key by key, all else replaced."""
    positions = dict(base.positions)
    value = _lay(base.value, top.value, (), positions, top.positions)
    return Located(value, positions)


def _lay(base: Any, top: Any, path: Path, positions: dict[Path, Position], top_positions: dict[Path, Position]) -> Any:
    if isinstance(base, dict) and isinstance(top, dict):
        merged = dict(base)
        for key, value in top.items():
            merged[key] = _lay(base.get(key, NOTHING), value, (*path, key), positions, top_positions)
        return merged
    for old in [known for known in positions if known[: len(path)] == path]:
        del positions[old]
    positions.update({new: position for new, position in top_positions.items() if new[: len(path)] == path})
    return top


class _RefusedError(Exception):
    """What stops the reading of a file as a whole."""

    def __init__(self, line: int | None, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.line, self.problem, self.remedy = line, problem, remedy


class _Loader(yaml.SafeLoader):
    """YAML without the guesses that turn names and times into something else."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # replaces the parent's

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            at = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise _RefusedError(at.line + 1, "aliases are not read", "write the value out")
        return super().compose_node(parent, index)


_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?[0-9]{1,18}$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?$"),
    list("-+.0123456789"),
)


@dataclass
class _Builder:
    """Turns the nodes of one file into values and positions."""

    file: str
    positions: dict[Path, Position] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def build(self, node: yaml.Node, path: Path) -> Any:
        self.positions.setdefault(path, Position(self.file, node.start_mark.line + 1))
        if len(path) > DEEPEST_NESTING:
            raise _RefusedError(node.start_mark.line + 1, f"is nested deeper than {DEEPEST_NESTING}", "write it flat")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(child, (*path, at)) for at, child in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, child in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise _RefusedError(line, "a key is a list or a mapping", "write a text")
            here = (*path, key.value)
            if key.value in found:
                first = self.positions[here].line
                problem = f"the key stands here again, first in line {first}"
                self.faults.append(Fault(self.file, line, dotted(here), "", problem, "keep one of them"))
                continue
            self.positions[here] = Position(self.file, line)
            found[key.value] = self.build(child, here)
        return found

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind == "null":
            return None
        if kind == "bool":
            return node.value == "true"
        if kind == "int" and re.fullmatch(r"[-+]?\d+", node.value):
            return int(node.value)
        if kind == "float" and re.fullmatch(r"[-+.\deE]+", node.value):
            return float(node.value)
        if kind != "str":
            line = node.start_mark.line + 1
            self.faults.append(Fault(self.file, line, dotted(path), "", f"the tag {node.tag} is not read", "drop it"))
        return node.value


@lru_cache(maxsize=256)
def _composed(text: str) -> yaml.Node | None:
    """The nodes of a text, which nobody changes: a process that does step after step reads the same files each time."""
    node: yaml.Node | None = yaml.compose(text, Loader=_Loader)
    return node


def read(path: FilePath, file: str) -> tuple[Located | None, list[Fault]]:
    """One YAML file, called `file` in messages; an empty one is an empty mapping."""
    try:
        content = path.read_bytes()
        if len(content) > LARGEST_FILE:
            raise _RefusedError(None, f"has {len(content)} bytes, more than {LARGEST_FILE}", "is it a data file?")
        node = _composed(content.decode("utf-8-sig"))
        builder = _Builder(file)
        value = {} if node is None else builder.build(node, ())
        if not isinstance(value, dict):
            raise _RefusedError(1, "is not a mapping", "write `key: value` lines")
    except OSError as error:
        return None, [Fault(file, None, "", "", f"cannot be read ({error.strerror or error})", "check the file")]
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return None, [Fault(file, line, "", "", "is not UTF-8", "save it as UTF-8")]
    except _RefusedError as refusal:
        return None, [Fault(file, refusal.line, "", "", refusal.problem, refusal.remedy)]
    except yaml.MarkedYAMLError as error:
        where = error.problem_mark or error.context_mark
        at = where.line + 1 if where else None
        problem = "is not YAML: " + ", ".join(part for part in (error.context, error.problem) if part)
        return None, [Fault(file, at, "", "", problem, "check indentation and quotes")]
    except yaml.YAMLError as error:  # control characters
        return None, [Fault(file, None, "", "", f"is not YAML: {str(error).splitlines()[0]}", "save it as text")]
    positions = builder.positions or {(): Position(file, 1)}
    return Located(value, positions), builder.faults
