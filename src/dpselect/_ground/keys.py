"""Keys: the columns that say together who a user is, or what an item is. One column is its name, several a tuple.

No columns, (), are the items of data that have none.
"""

from __future__ import annotations

from dpselect.errors import ParameterError, came

Key = str | tuple[str, ...]

MOST = 8  # columns of one key
_NAME = "be the name of a column"
_MUST = f"{_NAME}, or a list of such names"


def key_of(parameter: str, given: object) -> Key:
    """The key that a caller means. A list of one name is that column."""
    if isinstance(given, str):
        _check_name(parameter, given)
        return given
    if not isinstance(given, (list, tuple)):
        raise ParameterError(parameter, _MUST, came(given))
    if not 1 <= len(given) <= MOST:
        raise ParameterError(parameter, f"{_MUST}, {MOST} at most", f"a list of {len(given)}")
    for name in given:
        _check_name(parameter, name)
    twice = next((name for place, name in enumerate(given) if name in given[:place]), None)
    if twice is not None:
        raise ParameterError(parameter, "name each column once", f"{twice!r} twice")
    return given[0] if len(given) == 1 else tuple(given)


def _check_name(parameter: str, name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(parameter, _NAME, came(name))


def refuse_shared(user: Key, item: Key) -> None:
    """Refuse a column of items that is one of users too: each of its items would be of few users, and tell of them."""
    shared = next((name for name in names(item) if name in names(user)), None)
    if shared is not None:
        raise ParameterError("item", "be a column other than user", came(shared))


def names(key: Key) -> tuple[str, ...]:
    """All columns of a key."""
    return (key,) if isinstance(key, str) else tuple(key)


def named(user: Key, item: Key, by: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Each column beside the parameter that names it, columns of groups first: those of pairs are items too."""
    found = [("by", name) for name in by] + [("user", name) for name in names(user)]
    return found + [("item", name) for name in names(item)]


def columns_of(key: Key | None) -> tuple[str, ...] | None:
    """The columns of a key of several; None where it is one column, or none."""
    return (key or None) if isinstance(key, tuple) else None


def text_of(key: Key) -> str:
    r"""A key as one text, as a ledger keeps it: different keys have different texts, and one column is its name.

    Several are a list in JSON, and so is a single column whose name could be taken for one.

    >>> text_of("user"), text_of(("user", "day")), text_of('["user"]')
    ('user', '["user", "day"]', '["[\\"user\\"]"]')
    """
    if isinstance(key, str) and not key.startswith('["'):
        return key
    import json

    return json.dumps(list(names(key)))


def key_from(text: str) -> Key:
    """The key that `text_of` wrote; any other text is the name of a column."""
    if not text.startswith('["'):
        return text
    import json

    try:
        return key_of("user", json.loads(text))
    except (ValueError, RecursionError):  # of which a ParameterError is one
        return text


def unit_of(user: Key) -> str:
    """Whom a promise is about: one user, or one combination of several columns.

    >>> unit_of("user"), unit_of(("user", "day"))
    ('user', '(user, day) pair')
    """
    if isinstance(user, str):
        return "user"
    columns = ", ".join(map(printable, user))
    return f"({columns}) {'pair' if len(user) == 2 else 'combination'}"


def said(key: Key) -> str:
    """A key in a message."""
    return repr(key) if isinstance(key, str) else repr(list(key))


def printable(text: str) -> str:
    """Return a text for a sentence; what steers a terminal is an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def apart(label: object) -> object:
    """What no other label has: Python takes 1 and True for equal, and a float and the decimal that it is."""
    return tuple(map(apart, label)) if isinstance(label, tuple) else (type(label), label)
