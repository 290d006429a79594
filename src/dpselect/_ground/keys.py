"""Keys: the columns that say together who a user is, or what an item is. One column is its name, several a tuple.

No columns, (), are the items of data that have none.
"""

from __future__ import annotations

from dpselect.errors import ParameterError, came

Key = str | tuple[str, ...]

MAX_KEY_COLUMNS = 8  # columns of one key
_COLUMN_REQUIREMENT = "be the name of a column"
_KEY_REQUIREMENT = f"{_COLUMN_REQUIREMENT}, or a list of such names"


def parse_key(parameter: str, value: object) -> Key:
    """Return the key that a caller means. A list of one name is that column."""
    if isinstance(value, str):
        _check_name(parameter, value)
        return value
    if not isinstance(value, (list, tuple)):
        raise ParameterError(parameter, _KEY_REQUIREMENT, came(value))
    if not 1 <= len(value) <= MAX_KEY_COLUMNS:
        raise ParameterError(parameter, f"{_KEY_REQUIREMENT}, {MAX_KEY_COLUMNS} at most", f"a list of {len(value)}")
    for name in value:
        _check_name(parameter, name)
    duplicate = next((name for index, name in enumerate(value) if name in value[:index]), None)
    if duplicate is not None:
        raise ParameterError(parameter, "name each column once", f"{duplicate!r} twice")
    return value[0] if len(value) == 1 else tuple(value)


def _check_name(parameter: str, name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(parameter, _COLUMN_REQUIREMENT, came(name))


def refuse_shared(user: Key, item: Key) -> None:
    """Refuse a column of items that is one of users too: each of its items would be of few users, and tell of them."""
    shared = next((name for name in key_columns(item) if name in key_columns(user)), None)
    if shared is not None:
        raise ParameterError("item", "be a column other than user", came(shared))


def key_columns(key: Key) -> tuple[str, ...]:
    """Return all columns of a key."""
    return (key,) if isinstance(key, str) else tuple(key)


def parameters_of_columns(user: Key, item: Key, by: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Return each column with the parameter that names it, columns of groups first: those of pairs are items too."""
    pairs = [("by", name) for name in by] + [("user", name) for name in key_columns(user)]
    return pairs + [("item", name) for name in key_columns(item)]


def composite_columns(key: Key | None) -> tuple[str, ...] | None:
    """Return the columns of a key of several; None for a single column, or no column."""
    return (key or None) if isinstance(key, tuple) else None


def key_to_text(key: Key) -> str:
    r"""Return a key as one text, as a ledger keeps it: different keys have different texts, and one column is its name.

    Several are a list in JSON, and so is a single column whose name could be taken for one.

    >>> key_to_text("user"), key_to_text(("user", "day")), key_to_text('["user"]')
    ('user', '["user", "day"]', '["[\\"user\\"]"]')
    """
    if isinstance(key, str) and not key.startswith('["'):
        return key
    import json

    return json.dumps(list(key_columns(key)))


def key_from_text(text: str) -> Key:
    """Parse a text that `key_to_text` returned; any other text is the name of a column."""
    if not text.startswith('["'):
        return text
    import json

    try:
        return parse_key("user", json.loads(text))
    except (ValueError, RecursionError):  # of which a ParameterError is one
        return text


def unit_of_key(user: Key) -> str:
    """Return the unit that a promise protects: one user, or one combination of several columns.

    >>> unit_of_key("user"), unit_of_key(("user", "day"))
    ('user', '(user, day) pair')
    """
    if isinstance(user, str):
        return "user"
    columns = ", ".join(map(printable, user))
    return f"({columns}) {'pair' if len(user) == 2 else 'combination'}"


def format_key(key: Key) -> str:
    """Format a key for a message."""
    return repr(key) if isinstance(key, str) else repr(list(key))


def printable(text: str) -> str:
    """Return a text for a sentence, with escapes in place of characters that steer a terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def typed_label(label: object) -> object:
    """Return the label with its type: Python takes 1 and True for equal, and a float and the decimal that it is."""
    return tuple(map(typed_label, label)) if isinstance(label, tuple) else (type(label), label)
