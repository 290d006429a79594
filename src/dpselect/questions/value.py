"""Value: a base of what is made of parameters, each declared once, as a field with its kind, its default and its help.

Checks, repr, equality, JSON and the flat names of a command and of HTTP all follow from the fields.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import Column
from dpselect._ground.parameters import check_keywords
from dpselect.errors import ParameterError, came
from dpselect.questions.kinds import ParameterKind
from dpselect.release.formatting import Json

T = TypeVar("T")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def param(
    kind: ParameterKind, *, default: Any = MISSING, help: str, flat: str | None = None, rare: bool = False
) -> Any:
    """Declare a parameter. `flat` is its name on a command line and in JSON, if that differs from the field's.

    A `rare` parameter is only in the longer help of a command.
    """
    return field(default=default, metadata={"kind": kind, "help": help, "flat": flat, "rare": rare})


@dataclass_transform(frozen_default=True, field_specifiers=(param,))
def frozen(cls: type[T]) -> type[T]:
    """Decorate a class that is made of parameters; a type checker reads it as a dataclass.

    The help of the parameters becomes a part of the docstring.
    """
    decorated = check_keywords(dataclass(frozen=True, repr=False, eq=False)(cls))
    lines = [
        f"    {parameter.name}: {help_sentence(parameter)}"
        for parameter in fields(decorated)  # type: ignore[arg-type]
        if "help" in parameter.metadata
    ]
    text, mark, example = inspect.cleandoc(cls.__doc__ or "").partition("Example:\n")
    if lines and cls.__doc__:
        decorated.__doc__ = "\n".join([text.rstrip(), "", "Args:", *lines, *(["", mark + example] if mark else [])])
    return decorated


def help_sentence(parameter: Field[Any]) -> str:
    """Return the help of a parameter as a sentence of a docstring."""
    help_text = LINK.sub(r"\1", parameter.metadata["help"])
    return f"{help_text[0].upper()}{help_text[1:]}."


class ParameterSet:
    """Base of values that are made of parameters: checked when made, equal if they mean the same, repr in Python."""

    error_noun: ClassVar[str] = ""  # what an error calls the value
    without: ClassVar[tuple[str, ...]] = ()  # flat names of its inner values that it has no use for

    def __post_init__(self) -> None:
        for parameter in self.parameters():
            value = getattr(self, parameter.name)
            if value is not None or parameter.default is not None:
                object.__setattr__(self, parameter.name, parameter.metadata["kind"].read(parameter.name, value))
        self.check()

    def check(self) -> None:
        """Refuse fields that do not fit together; few values need it."""

    def replace(self, **changes: Any) -> Self:
        """Return the value with these fields changed. Only they are read: the others were, when this value was made."""
        changed = object.__new__(type(self))
        for parameter in self.parameters():
            name, kind = parameter.name, parameter.metadata["kind"]
            value = getattr(self, name)
            if name in changes:
                value = changes.pop(name)
                value = value if value is None is parameter.default else kind.read(name, value)
            object.__setattr__(changed, name, value)
        if changes:
            raise TypeError(f"{type(self).__name__} has no field {next(iter(changes))!r}")
        changed.check()
        return changed

    @classmethod
    def name_in_errors(cls) -> str:
        """Return what an error calls the value."""
        return cls.error_noun

    @classmethod
    @cache
    def parameters(cls) -> tuple[Field[Any], ...]:
        """Return the fields, in their order."""
        return fields(cls)  # type: ignore[arg-type] # every subclass is a dataclass

    def non_default_fields(self) -> Iterator[tuple[Field[Any], Any]]:
        """Yield each field with a value other than its default: a field that is added later changes no question."""
        for parameter in self.parameters():
            value = getattr(self, parameter.name)
            if parameter.default is MISSING or (value is not None and not _is_default(parameter, value)):
                yield parameter, value

    def __repr__(self) -> str:
        first = self.parameters()[0]
        python_texts = [
            (parameter, parameter.metadata["kind"].python(value)) for parameter, value in self.non_default_fields()
        ]
        inner = [
            text if parameter is first and not parameter.kw_only else f"{parameter.name}={text}"
            for parameter, text in python_texts
        ]
        return f"{type(self).__name__}({', '.join(inner)})"

    def flat(self) -> dict[str, Any]:
        """Return the values that are not defaults by the names of a command and JSON, those of inner values too."""
        flat_values: dict[str, Any] = {}
        for parameter, value in self.non_default_fields():
            flat_values |= value.flat() if isinstance(value, ParameterSet) else {_flat_name(parameter): value}
        return flat_values

    def flat_json(self) -> dict[str, Json]:
        """Return the dict of `flat` with its values as JSON."""
        flat_values: dict[str, Json] = {}
        for parameter, value in self.non_default_fields():
            is_inner = isinstance(value, ParameterSet)
            flat_values |= (
                value.flat_json() if is_inner else {_flat_name(parameter): parameter.metadata["kind"].write(value)}
            )
        return flat_values

    @cached_property
    def key(self) -> str:
        """A text that is the same exactly if two values mean the same."""
        return canonical_text(
            [
                type(self).__name__,
                [[parameter.name, field_to_json(parameter, value)] for parameter, value in self.non_default_fields()],
            ]
        )

    def __eq__(self, other: object) -> bool:
        """Compare by the key: for Python [1], [True] and [1.0] are equal, and as items they are not."""
        return type(self) is type(other) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    # ---- from flat names ------------------------------------------------------------------------------------

    @classmethod
    @cache
    def flat_fields(cls) -> Mapping[str, Field[Any]]:
        """Return all fields by their flat names, those of inner values for which it has a use among them."""
        flat_fields: dict[str, Field[Any]] = {}
        for parameter in cls.parameters():
            kind = parameter.metadata["kind"]
            if isinstance(kind, Inner):
                for inner_class in kind.classes:
                    inner_fields = inner_class.flat_fields()
                    flat_fields |= {name: field for name, field in inner_fields.items() if name not in cls.without}
            else:
                flat_fields[_flat_name(parameter)] = parameter
        return MappingProxyType(flat_fields)

    @classmethod
    def flat_names(cls) -> list[str]:
        """Return the names of `flat_fields`."""
        return [*cls.flat_fields()]

    @classmethod
    def pick_values(cls, flat_values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the flat values that mean something for this class: None, and a flag that is the default, do not."""
        defaults = {_flat_name(parameter): parameter.default for parameter in cls.parameters()}
        names = [name for name in cls.flat_names() if flat_values.get(name) is not None]
        return {name: flat_values[name] for name in names if flat_values[name] is not defaults.get(name)}

    @classmethod
    def mistakes(cls, flat_values: Mapping[str, Any], *, as_json: bool = False) -> Iterator[ParameterError]:
        """Yield the error of each flat value that is wrong by itself, in the order of the fields."""
        for parameter in cls.parameters():
            kind, name = parameter.metadata["kind"], _flat_name(parameter)
            if isinstance(kind, Inner):
                for inner_class in kind.classes:
                    inner_values = inner_class.pick_values(flat_values)
                    yield from inner_class.mistakes(inner_values, as_json=as_json) if inner_values else ()
                continue
            value = flat_values.get(name)
            if value is None and parameter.default is not MISSING:
                continue
            try:
                if value is None:
                    raise ParameterError(name, f"be given for {cls.name_in_errors()}", "nothing")
                kind.read(name, kind.from_json(name, value) if as_json else value)
            except ParameterError as error:
                yield error

    @classmethod
    def from_flat(cls, flat_values: Mapping[str, Any], *, as_json: bool = False) -> Self:
        """Return the value of flat names; None means left out. All names must be names of this value."""
        fields_by_name: dict[str, Any] = {}
        for parameter in cls.parameters():
            kind, name = parameter.metadata["kind"], _flat_name(parameter)
            if isinstance(kind, Inner):
                value = kind.from_flat(flat_values, as_json=as_json)
            else:
                value = flat_values.get(name)
                value = kind.from_json(name, value) if as_json and value is not None else value
            if value is not None:
                fields_by_name[parameter.name] = value
            elif parameter.default is MISSING:
                raise ParameterError(name, f"be given for {cls.name_in_errors()}", "nothing")
        try:
            return cls(**fields_by_name)
        except ParameterError as error:  # which names a field, and whoever wrote this has another name for some
            flat_names = {parameter.name: _flat_name(parameter) for parameter in cls.parameters()}
            name = flat_names.get(error.parameter, error.parameter)
            raise ParameterError(name, error.must, error.came, error.hint) from None


@dataclass(frozen=True)
class Inner(ParameterKind):
    """The kind of a parameter that is a value itself, of one of some classes; `plain` makes one of anything else."""

    classes: tuple[type[ParameterSet], ...] = ()

    def from_flat(self, flat_values: Mapping[str, Any], *, as_json: bool) -> ParameterSet | None:
        """Return the value that the flat values describe, or None; they may describe only one."""
        values_by_class = {inner_class: inner_class.pick_values(flat_values) for inner_class in self.classes}
        used_classes = [inner_class for inner_class, inner_values in values_by_class.items() if inner_values]
        if len(used_classes) > 1:
            name = next(iter(values_by_class[used_classes[1]]))
            raise ParameterError(
                name, f"be left out if {next(iter(values_by_class[used_classes[0]]))} is given", came(flat_values[name])
            )
        return used_classes[0].from_flat(values_by_class[used_classes[0]], as_json=as_json) if used_classes else None


def inner(*classes: type[ParameterSet], plain: Callable[[Any], ParameterSet] | None = None) -> Inner:
    """Return the kind of a parameter that is a value itself. Anything else is given to `plain`."""

    def read(name: str, argument: Any) -> Any:
        if isinstance(argument, classes):
            return argument
        if plain is None or isinstance(argument, ParameterSet):
            raise ParameterError(
                name, f"be {' or '.join(f'{inner_class.__name__}(...)' for inner_class in classes)}", came(argument)
            )
        try:
            return plain(argument)
        except ParameterError as error:
            raise ParameterError(name, error.must, error.came, error.hint) from None

    def python(value: ParameterSet) -> str:
        given_fields = list(value.non_default_fields())
        is_plain = plain is not None and len(given_fields) == 1 and given_fields[0][0] is value.parameters()[0]
        return given_fields[0][0].metadata["kind"].python(given_fields[0][1]) if is_plain else repr(value)

    return Inner(read, "TEXT", python=python, classes=classes)


def strip_links(help_text: str) -> str:
    """Return the help of a parameter without links.

    >>> strip_links("in [each](by-group.md) group")
    'in each group'
    """
    return LINK.sub(r"\1", help_text)


def _flat_name(parameter: Field[Any]) -> str:
    return parameter.metadata["flat"] or parameter.name


def _is_default(parameter: Field[Any], value: Any) -> bool:
    return parameter.default is not None and bool(value == _read_default(parameter))


@cache
def _read_default(parameter: Field[Any]) -> Any:
    kind: ParameterKind = parameter.metadata["kind"]
    return kind.read(parameter.name, parameter.default)


def canonical_text(value: Json) -> str:
    """Return JSON as a text that differs from all other, by what each part is, not by how its class looks."""
    match value:
        case None | bool():
            return repr(value)
        case str() | int() | float():
            plain = next(kind for kind in (str, int, float) if isinstance(value, kind))
            return plain.__repr__(value)
        case dict():
            members = (f"{canonical_text(name)}: {canonical_text(member)}" for name, member in value.items())
            return f"{{{', '.join(members)}}}"
    return f"[{', '.join(map(canonical_text, value))}]"


def field_to_json(parameter: Field[Any], value: Any) -> Json:
    """Return the value of a field as JSON that differs from that of any other value."""
    if value is None:
        return None
    if isinstance(value, ParameterSet):
        return value.key
    if isinstance(value, Column):
        source = value.source if isinstance(value.source, str) else id(value.source)
        return ["column", source, value.column, value.table]
    document: Json = parameter.metadata["kind"].write(value)
    return document
