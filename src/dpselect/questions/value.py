"""Value: what is made of parameters. A parameter is declared once, as a field with its kind, its default and its help.

Checks, repr, equality, JSON and the flat names that a command and HTTP have are all read off the fields.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from dpselect._ground.domain import Column
from dpselect._ground.parameters import check_keywords
from dpselect.errors import ParameterError, came
from dpselect.questions.kinds import Kind
from dpselect.release.formatting import Json

T = TypeVar("T")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def param(kind: Kind, *, default: Any = MISSING, help: str, flat: str | None = None, rare: bool = False) -> Any:
    """A parameter. `flat` is its name on a command line and in JSON, where that is another than the field's.

    What is `rare` stands in the longer help of a command only.
    """
    return field(default=default, metadata={"kind": kind, "help": help, "flat": flat, "rare": rare})


@dataclass_transform(frozen_default=True, field_specifiers=(param,))
def frozen(cls: type[T]) -> type[T]:
    """The decorator of all that is made of parameters; a type checker reads it as that of a dataclass.

    The help of the parameters becomes a part of the docstring.
    """
    made = check_keywords(dataclass(frozen=True, repr=False, eq=False)(cls))
    lines = [f"    {one.name}: {help_sentence(one)}" for one in fields(made) if "help" in one.metadata]  # type: ignore[arg-type]
    text, mark, example = inspect.cleandoc(cls.__doc__ or "").partition("Example:\n")
    if lines and cls.__doc__:
        made.__doc__ = "\n".join([text.rstrip(), "", "Args:", *lines, *(["", mark + example] if mark else [])])
    return made


def help_sentence(parameter: Field[Any]) -> str:
    """The help of a parameter as a sentence of a docstring."""
    said = LINK.sub(r"\1", parameter.metadata["help"])
    return f"{said[0].upper()}{said[1:]}."


class Value:
    """What is made of parameters: checked when it is made, equal if it says the same, its repr is its Python."""

    error_noun: ClassVar[str] = ""  # in an error

    def __post_init__(self) -> None:
        for one in self.parameters():
            given = getattr(self, one.name)
            if given is not None or one.default is not None:
                object.__setattr__(self, one.name, one.metadata["kind"].read(one.name, given))
        self.check()

    def check(self) -> None:
        """What fields must be together; few values need it."""

    @classmethod
    def name_in_errors(cls) -> str:
        """What an error calls it."""
        return cls.error_noun

    @classmethod
    def parameters(cls) -> tuple[Field[Any], ...]:
        """The fields, in their order."""
        return fields(cls)  # type: ignore[arg-type] # every subclass is a dataclass

    def non_default_fields(self) -> Iterator[tuple[Field[Any], Any]]:
        """The fields that are not as they are by default: one that is added later changes no question of before."""
        for one in self.parameters():
            found = getattr(self, one.name)
            if one.default is MISSING or (found is not None and not _is_default(one, found)):
                yield one, found

    def __repr__(self) -> str:
        first = self.parameters()[0]
        told = [(one, one.metadata["kind"].python(found)) for one, found in self.non_default_fields()]
        inner = [text if one is first and not one.kw_only else f"{one.name}={text}" for one, text in told]
        return f"{type(self).__name__}({', '.join(inner)})"

    def flat(self) -> dict[str, Any]:
        """All that is said, under the names that a command and JSON have, those of inner values beside the others."""
        found: dict[str, Any] = {}
        for one, value in self.non_default_fields():
            found |= value.flat() if isinstance(value, Value) else {_flat_name(one): value}
        return found

    def flat_json(self) -> dict[str, Json]:
        """The same as JSON."""
        found: dict[str, Json] = {}
        for one, value in self.non_default_fields():
            inner = isinstance(value, Value)
            found |= value.flat_json() if inner else {_flat_name(one): one.metadata["kind"].write(value)}
        return found

    @cached_property
    def key(self) -> str:
        """Two values say the same exactly if this is the same text."""
        return canonical_text(
            [type(self).__name__, [[one.name, field_to_json(one, found)] for one, found in self.non_default_fields()]]
        )

    def __eq__(self, other: object) -> bool:
        """By the key: for Python [1], [True] and [1.0] are equal, and as items they are not."""
        return type(self) is type(other) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    # ---- from flat names ------------------------------------------------------------------------------------

    @classmethod
    def flat_fields(cls) -> dict[str, Field[Any]]:
        """All fields by their flat names, those of inner values among them."""
        found: dict[str, Field[Any]] = {}
        for one in cls.parameters():
            kind = one.metadata["kind"]
            if isinstance(kind, Inner):
                for each in kind.classes:
                    found |= each.flat_fields()
            else:
                found[_flat_name(one)] = one
        return found

    @classmethod
    def flat_names(cls) -> list[str]:
        """The names of `flat_fields`."""
        return [*cls.flat_fields()]

    @classmethod
    def pick_values(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is said under flat names of this value: None, and a flag that is as by default, say nothing."""
        usual = {_flat_name(one): one.default for one in cls.parameters()}
        names = [name for name in cls.flat_names() if given.get(name) is not None]
        return {name: given[name] for name in names if given[name] is not usual.get(name)}

    @classmethod
    def mistakes(cls, given: Mapping[str, Any], *, as_json: bool = False) -> Iterator[ParameterError]:
        """What is wrong with each field of flat names by itself, in their order."""
        for one in cls.parameters():
            kind, name = one.metadata["kind"], _flat_name(one)
            if isinstance(kind, Inner):
                for each in kind.classes:
                    own = each.pick_values(given)
                    yield from each.mistakes(own, as_json=as_json) if own else ()
                continue
            value = given.get(name)
            if value is None and one.default is not MISSING:
                continue
            try:
                if value is None:
                    raise ParameterError(name, f"be given for {cls.name_in_errors()}", "nothing")
                kind.read(name, kind.from_json(name, value) if as_json else value)
            except ParameterError as error:
                yield error

    @classmethod
    def from_flat(cls, given: Mapping[str, Any], *, as_json: bool = False) -> Self:
        """The value of flat names; what is None was left out. All of them must be names of this value."""
        made: dict[str, Any] = {}
        for one in cls.parameters():
            kind, name = one.metadata["kind"], _flat_name(one)
            if isinstance(kind, Inner):
                value = kind.from_flat(given, as_json=as_json)
            else:
                value = given.get(name)
                value = kind.from_json(name, value) if as_json and value is not None else value
            if value is not None:
                made[one.name] = value
            elif one.default is MISSING:
                raise ParameterError(name, f"be given for {cls.name_in_errors()}", "nothing")
        try:
            return cls(**made)
        except ParameterError as error:  # which names a field, and whoever wrote this has another name for some
            flat = {one.name: _flat_name(one) for one in cls.parameters()}
            name = flat.get(error.parameter, error.parameter)
            raise ParameterError(name, error.must, error.came, error.hint) from None


@dataclass(frozen=True)
class Inner(Kind):
    """A parameter that is a value itself, of one of some classes; `plain` makes one of what is none."""

    classes: tuple[type[Value], ...] = ()

    def from_flat(self, given: Mapping[str, Any], *, as_json: bool) -> Value | None:
        """The value of which something is said; of two nothing can be said at once."""
        own = {one: one.pick_values(given) for one in self.classes}
        said = [one for one, found in own.items() if found]
        if len(said) > 1:
            name = next(iter(own[said[1]]))
            raise ParameterError(name, f"be left out if {next(iter(own[said[0]]))} is given", came(given[name]))
        return said[0].from_flat(own[said[0]], as_json=as_json) if said else None


def inner(*classes: type[Value], plain: Callable[[Any], Value] | None = None) -> Inner:
    """A parameter that is a value itself. What is no value is given to `plain`."""

    def read(name: str, given: Any) -> Any:
        if isinstance(given, classes):
            return given
        if plain is None or isinstance(given, Value):
            raise ParameterError(name, f"be {' or '.join(f'{one.__name__}(...)' for one in classes)}", came(given))
        try:
            return plain(given)
        except ParameterError as error:
            raise ParameterError(name, error.must, error.came, error.hint) from None

    def python(value: Value) -> str:
        told = list(value.non_default_fields())
        alone = plain is not None and len(told) == 1 and told[0][0] is value.parameters()[0]
        return told[0][0].metadata["kind"].python(told[0][1]) if alone else repr(value)

    return Inner(read, "TEXT", python=python, classes=classes)


def strip_links(words: str) -> str:
    """The help of a parameter without links.

    >>> plain("in [each](by-group.md) group")
    'in each group'
    """
    return LINK.sub(r"\1", words)


def _flat_name(one: Field[Any]) -> str:
    return one.metadata["flat"] or one.name


def _is_default(one: Field[Any], found: Any) -> bool:
    kind: Kind = one.metadata["kind"]
    return one.default is not None and bool(found == kind.read(one.name, one.default))


def canonical_text(value: Json) -> str:
    """JSON as text that tells it from all other: by what each part is, and not by how a class of its own looks."""
    match value:
        case None | bool():
            return repr(value)
        case str() | int() | float():
            plain = next(kind for kind in (str, int, float) if isinstance(value, kind))
            return plain.__repr__(value)
        case dict():
            return f"{{{', '.join(f'{canonical_text(name)}: {canonical_text(one)}' for name, one in value.items())}}}"
    return f"[{', '.join(map(canonical_text, value))}]"


def field_to_json(one: Field[Any], found: Any) -> Json:
    """What a field says, as JSON that tells it from all else."""
    if found is None:
        return None
    if isinstance(found, Value):
        return found.key
    if isinstance(found, Column):
        source = found.source if isinstance(found.source, str) else id(found.source)
        return ["column", source, found.column, found.table]
    written: Json = one.metadata["kind"].write(found)
    return written
