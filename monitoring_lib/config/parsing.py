"""From a located mapping to a model, with every fault of it rather than the first."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from monitoring_lib.config import checks
from monitoring_lib.config.monitor import Monitor, MonitorKeys
from monitoring_lib.config.settings import Settings
from monitoring_lib.config.source import Source
from monitoring_lib.documents.faults import Fault, KeyFault, Path, key_fault
from monitoring_lib.documents.located import Located
from monitoring_lib.errors import UsageError
from monitoring_lib.methods import Keys
from monitoring_lib.protocols import find_method, find_question
from monitoring_lib.suggest import nearest

Model = TypeVar("Model")


@dataclass(frozen=True)
class Parsed(Generic[Model]):
    """A model and what is wrong with it.

    A model with faults stands for the keys that were right, so that they can be checked too; there is none
    where a key is wrong that nothing can stand for.
    """

    model: Model | None
    key_faults: tuple[KeyFault, ...] = ()

    def also(self, key_faults: Iterable[KeyFault]) -> Parsed[Model]:
        """With more key_faults, but those that only follow from a key that is wrong already."""
        wrong = [fault.path for fault in self.key_faults]
        new = (more for more in key_faults if not any(_one_holds_other(more.path, path) for path in wrong))
        return Parsed(self.model, (*self.key_faults, *new))

    def faults(self, document: Located) -> list[Fault]:
        return [document.fault(fault.path, fault.problem, fault.remedy) for fault in self.key_faults]


def settings(document: Located) -> Parsed[Settings]:
    return _validate(Settings, document.value)


def source(document: Located) -> Parsed[Source]:
    parsed = _validate(Source, document.value)
    if parsed.model is not None:
        parsed = parsed.also(checks.of_source(parsed.model))
    if any(fault.path[:1] == ("columns",) for fault in parsed.key_faults):
        return Parsed(None, parsed.key_faults)  # no monitor is to be blamed for a column that is missing so
    return parsed


def monitor(document: Located) -> Parsed[Monitor]:
    """The common keys, the question's own, and the options of the methods named."""
    common = {key: value for key, value in document.value.items() if key in MonitorKeys.model_fields}
    own = {key: value for key, value in document.value.items() if key not in common}
    keys = _validate(MonitorKeys, common)
    try:
        question = find_question(str(common.get("question")))
    except UsageError as error:  # then its own keys cannot be known
        return Parsed(None, keys.key_faults).also([key_fault(("question",), str(error))])
    params = _validate(question.Params, own, also_known=MonitorKeys.model_fields)
    key_faults = (*keys.key_faults, *params.key_faults)
    if keys.model is None:
        return Parsed(None, key_faults)
    method = keys.model.method or question.default_method
    options: dict[str, Keys] = {}
    for name in dict.fromkeys((method, *keys.model.shadow, *keys.model.options)):
        option = _options(keys.model, method, name)
        key_faults += option.key_faults
        options[name] = option.model or Keys()
    model = Monitor(
        params=params.model or Keys(), method=method, shadow=tuple(keys.model.shadow), options=options,
        alert=tuple(keys.model.alert), quality=keys.model.quality,
        **keys.model.model_dump(exclude={"method", "shadow", "options", "alert", "quality"}),
    )  # fmt: skip
    return Parsed(model, key_faults).also(checks.of_monitor(model))


def _options(keys: MonitorKeys, method: str, name: str) -> Parsed[Keys]:
    if name == method:
        path: Path = ("method",)
    else:
        path = ("shadow", keys.shadow.index(name)) if name in keys.shadow else ("options", name)
    try:
        found = find_method(keys.question, name)
    except UsageError as error:
        return Parsed(None, (key_fault(path, str(error)),))
    return _validate(found.Options, keys.options.get(name, {}), at=("options", name))


AnyKeys = TypeVar("AnyKeys", bound=BaseModel)


def _validate(model: type[AnyKeys], value: Any, at: Path = (), also_known: Iterable[str] = ()) -> Parsed[AnyKeys]:
    try:
        return Parsed(model.model_validate(value))
    except ValidationError as error:
        key_faults = tuple(_key_faults(model, error, at, also_known))
    for fault in key_faults:
        value = _without(value, fault.path[len(at) :])
    try:
        return Parsed(model.model_validate(value), key_faults)
    except ValidationError:
        return Parsed(None, key_faults)


def _one_holds_other(one: Path, other: Path) -> bool:
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared]


def _without(value: Any, path: Path) -> Any:
    """A mapping without what stands at a path; of a list nothing is kept."""
    if not isinstance(value, dict) or not path or path[0] not in value:
        return value
    rest = {key: part for key, part in value.items() if key != path[0]}
    inner = value[path[0]]
    if len(path) > 1 and isinstance(inner, dict) and path[1] in inner:
        rest[str(path[0])] = _without(inner, path[1:])
    return rest


def _key_faults(
    model: type[BaseModel], error: ValidationError, at: Path, also_known: Iterable[str]
) -> Iterator[KeyFault]:
    for problem in error.errors(include_url=False):
        path = tuple(problem["loc"])
        kind, message = problem["type"], problem["msg"]
        if kind == "default_factory_not_called":  # follows from a fault that is listed already
            continue
        if kind == "extra_forbidden":
            holder = _annotation_at(model, path[:-1])
            known = set(holder.model_fields) if isinstance(holder, type) and issubclass(holder, BaseModel) else set()
            hint = nearest(str(path[-1]), known | (set(also_known) if len(path) == 1 else set()))
            yield KeyFault((*at, *path), "unknown key", hint.removeprefix("; ") or "drop it")
        elif kind == "missing":
            holder = _annotation_at(model, path[:-1])
            field = holder.model_fields.get(str(path[-1])) if hasattr(holder, "model_fields") else None
            what = f" ({field.description})" if field is not None and field.description else ""
            yield KeyFault((*at, *path), "is missing", f"add `{path[-1]}: ...`{what}")
        else:
            where = (*at, *(part for part in path if part != "[key]"))
            if kind == "value_error":
                yield key_fault(where, message.removeprefix("Value error, "))
            else:
                yield KeyFault(where, "is not valid", message.replace("Input should", "it should"))


def _annotation_at(annotation: Any, path: Path) -> Any:
    """The model that validates what stands at a path."""
    for part in path:
        annotation = _unwrapped(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = annotation.model_fields.get(str(part))
            annotation = field.annotation if field is not None else None
        else:
            annotation = get_args(annotation)[-1] if get_args(annotation) else None
    return _unwrapped(annotation)


def _unwrapped(annotation: Any) -> Any:
    """An optional model without its None."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next((part for part in get_args(annotation) if part is not type(None)), None)
    return annotation
