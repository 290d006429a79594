"""The house's `dataclass` makes of every class of the package what the standard library makes of it."""

from __future__ import annotations

import ast
import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dpselect
from dpselect._ground import dataclass as house
from tests.house.rules import sources

HOME = "_ground/dataclass.py"
MADE = ("__dataclass_fields__", "__dataclass_params__", "__match_args__", "__init__", "__post_init__")
NEVER_COPIED = ("__dict__", "__weakref__", "__abstractmethods__", "_abc_impl", "__protocol_attrs__")
METHODS = ("__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__")


def module_names() -> Iterator[str]:
    for module in pkgutil.walk_packages(dpselect.__path__, "dpselect."):
        if not module.name.endswith("__main__"):
            yield module.name


def dataclasses_of(module: str) -> list[type]:
    """The dataclasses of a module; none of one whose package is not installed."""
    try:
        content = vars(importlib.import_module(module))
    except ImportError:
        return []
    found = [one for one in content.values() if isinstance(one, type) and one.__module__ == module]
    return [one for one in found if "__dataclass_params__" in vars(one)]


CLASSES = [one for module in module_names() for one in dataclasses_of(module)]


def is_ours(cls: Any, method: str) -> bool:
    return getattr(vars(cls).get(method), "__module__", None) == house.__name__


def content_of(cls: Any) -> dict[str, Any]:
    """What a class had before the decorator; `__post_init__` only notes that it was called."""
    own = vars(cls)
    content = {name: value for name, value in own.items() if name not in (*MADE, *NEVER_COPIED)}
    for name in METHODS:
        if is_ours(cls, name) or (name == "__hash__" and own.get(name) is None):
            content.pop(name, None)
    for field in dataclasses.fields(cls):
        if field.name in own.get("__annotations__", {}):
            content[field.name] = copy.copy(field)
    if hasattr(cls, "__post_init__"):
        content["__post_init__"] = lambda self: vars(self).update(was_called=True)
    return content


def by_the_standard_library(cls: Any) -> Any:
    """The class anew, with its bases: the standard library lets frozen classes have frozen bases only."""
    if "__dataclass_params__" not in vars(cls):
        return cls
    undecorated = type(cls)(cls.__name__, tuple(map(by_the_standard_library, cls.__bases__)), content_of(cls))
    return dataclasses.dataclass(**options_of(cls))(undecorated)


def options_of(cls: Any) -> dict[str, bool]:
    has_repr, has_eq = is_ours(cls, "__repr__"), is_ours(cls, "__eq__")
    return {"repr": has_repr, "eq": has_eq, "frozen": is_ours(cls, "__setattr__")}


def concrete(cls: Any) -> Any:
    if hasattr(cls, "__abstractmethods__"):
        cls.__abstractmethods__ = frozenset()
    return cls


def both(cls: type) -> tuple[Any, Any]:
    """The class anew, by the house and by the standard library."""
    ours = house.dataclass(**options_of(cls))(type(cls)(cls.__name__, cls.__bases__, content_of(cls)))
    return concrete(ours), concrete(by_the_standard_library(cls))


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or its error."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def described(cls: Any) -> Any:
    """What a class says of itself."""
    fields = [
        {slot: repr(getattr(field, slot)) for slot in dataclasses.Field.__slots__} for field in dataclasses.fields(cls)
    ]
    signature = inspect.signature(cls)
    kinds = [(one.name, one.kind, one.annotation, repr(one.default)) for one in signature.parameters.values()]
    return fields, kinds, signature.return_annotation, [*cls.__dataclass_fields__], cls.__match_args__


def arguments(cls: Any, mark: str) -> dict[str, str]:
    return {field.name: f"{mark} {field.name}" for field in dataclasses.fields(cls) if field.init}


def one_of(cls: Any, mark: str = "some") -> Any:
    """An instance with other values in fields that `__init__` does not set."""
    instance = cls(**arguments(cls, mark))
    for field in dataclasses.fields(cls):
        if field.name not in vars(instance):
            object.__setattr__(instance, field.name, f"{mark} {field.name}")
    return instance


def changed(instance: Any, name: str) -> Any:
    other = object.__new__(type(instance))
    vars(other).update(vars(instance) | {name: "changed"})
    return other


def ids(cls: Any) -> str:
    return f"{cls.__module__.partition('.')[2]}.{cls.__qualname__}"


@pytest.mark.parametrize("cls", CLASSES, ids=ids)
def test_a_class_is_as_the_standard_library_makes_it(cls: Any) -> None:
    ours, theirs = both(cls)
    assert described(ours) == described(theirs)
    for made in (lambda kind: vars(one_of(kind)), lambda kind: kind(no_field=1)):
        assert repr(outcome(lambda made=made: made(ours))) == repr(outcome(lambda made=made: made(theirs)))
    one, same = one_of(ours), one_of(theirs)
    if is_ours(ours, "__repr__"):
        assert repr(one) == repr(same)
    if is_ours(ours, "__hash__"):
        assert hash(one) == hash(one_of(ours)) == hash(same)
    if is_ours(ours, "__eq__"):
        assert one == one_of(ours)
        assert ours.__eq__(one, same) is NotImplemented
        for field in dataclasses.fields(ours):
            other, other_same = changed(one, field.name), changed(same, field.name)
            assert (one == other, one != other) == (same == other_same, same != other_same), field.name
            if is_ours(ours, "__hash__"):
                assert (hash(one) == hash(other)) == (hash(same) == hash(other_same)), field.name
    for name in (*[field.name for field in dataclasses.fields(ours)], "no_field"):
        for act in (lambda at, name=name: setattr(at, name, "set"), lambda at, name=name: delattr(at, name)):
            first, second = one_of(ours), one_of(theirs)
            assert outcome(lambda act=act, at=first: act(at)) == outcome(lambda act=act, at=second: act(at)), name
            assert vars(first) == vars(second), name


@pytest.mark.parametrize("cls", CLASSES, ids=ids)
def test_what_init_leaves_to_a_default_is_as_frozen_as_the_rest(cls: Any) -> None:
    """Nothing is put into an instance here but by its own `__init__`."""
    ours, theirs = both(cls)
    for name in (*[field.name for field in dataclasses.fields(ours)], "no_field"):
        first, second = (kind(**arguments(kind, "x")) for kind in (ours, theirs))
        refused, same = (outcome(lambda name=name, at=at: setattr(at, name, "set")) for at in (first, second))
        assert (refused, vars(first)) == (same, vars(second)), name


@pytest.mark.parametrize("cls", CLASSES, ids=ids)
def test_the_standard_library_works_on_a_class(cls: Any) -> None:
    """Its `replace` changes one field; copies keep every field."""
    ours, theirs = both(cls)
    for name in arguments(ours, "x"):
        first, second = (dataclasses.replace(kind(**arguments(kind, "x")), **{name: "new"}) for kind in (ours, theirs))
        assert vars(first) == vars(second)
    if cls.__reduce_ex__ is object.__reduce_ex__:  # what may be spent once refuses copies
        one = one_of(ours)
        assert vars(copy.copy(one)) == vars(copy.deepcopy(one)) == vars(one)
        assert one.__reduce_ex__(4)[2] == one_of(theirs).__reduce_ex__(4)[2]


def test_a_value_can_be_stored_and_read() -> None:
    topk = dpselect.TopK(3, by="country")
    assert pickle.loads(pickle.dumps(topk)) == topk
    plan = topk.at(epsilon=1)
    assert pickle.loads(pickle.dumps(plan.price)) == plan.price


def test_a_value_that_holds_itself_has_a_repr() -> None:
    @house.dataclass
    class Node:
        after: object = None

    node = Node()
    node.after = node
    assert repr(node).endswith("Node(after=...)")


def names_dataclass(text: str) -> bool:
    """Does a file take the decorator from the standard library?"""
    return any(
        (
            isinstance(node, ast.ImportFrom)
            and node.module == "dataclasses"
            and any(alias.name in ("dataclass", "make_dataclass") for alias in node.names)
        )
        or (isinstance(node, ast.Import) and any(alias.name == "dataclasses" for alias in node.names))
        for node in ast.walk(ast.parse(text))
    )


def test_there_is_one_decorator() -> None:
    assert {path for path, text in sources().items() if names_dataclass(text)} == {HOME}
    assert names_dataclass("from dataclasses import dataclass, field")
    assert names_dataclass("import dataclasses")
    assert not names_dataclass("from dataclasses import field\nfrom dpselect._ground.dataclass import dataclass")


def test_all_classes_are_compared() -> None:
    """The modules that need no other package have all but a few of the decorated classes."""
    decorated = sum(text.count("\n@dataclass") + text.count("\n@frozen") for text in sources().values())
    assert len(CLASSES) > 0.9 * decorated > 300
