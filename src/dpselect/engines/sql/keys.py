r"""Keys in SQL: one column, or several together, as one expression with one type.

No columns are one value, which every row has. Several columns are one text: each of them as a text that tells which
value it is, U+0001 twice between two of them. Inside a text U+0001 is followed by another character, so no value holds
what stands between values, and a text is read back in one way only. Since U+0001 is also below all other characters,
such texts sort by the first column in which they differ, each as its own texts do (`sorted_texts`). So all questions
stay as they are for one column of text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from dpselect.engines.sql.port import Dialect, Key, SqlType, parse_or_keep
from dpselect.engines.sql.sorted_texts import SortedText
from dpselect.errors import DataError

BORDER = "\x01\x01"
LOW = {"\x01": "\x01\x03", "\x00": "\x01\x02"}  # what is written for what is not above the border
_WRITTEN = re.compile("\x01([\x02\x03])")
Column = tuple[str, SqlType]
"""The SQL of a column, and its type."""


def compile_key(columns: Sequence[Column], dialect: Dialect) -> Key:
    """The key of one column, or of several."""
    present = " AND ".join(_of(one.present, sql) for sql, one in columns)
    nameable = " AND ".join(_of(one.nameable or one.present, sql) for sql, one in columns)
    types = [one for _, one in columns]
    if not columns:
        return Key("0", "TRUE", "TRUE", SqlType("no columns", "other", "{}", "", None, label=lambda _: ()), ())
    if len(columns) == 1:
        return Key(_of(types[0].form, columns[0][0]), present, nameable, types[0], (types[0],))
    form = concatenate_values([_of(one.form, sql) for sql, one in columns], types, dialect)
    return Key(form, present, nameable, combined_type(types, dialect), tuple(types))


def concatenate_values(forms: Sequence[str], types: Sequence[SqlType], dialect: Dialect) -> str:
    """The SQL of several values in their one form as one text."""
    return _joined([_text(form, one, dialect) for form, one in zip(forms, types, strict=True)], dialect)


def _joined(texts: Sequence[str], dialect: Dialect) -> str:
    border = dialect.literal(BORDER)
    return dialect.binary.replace("{}", f"concat({f', {border}, '.join(texts)})")


def compile_pair(group: Sequence[SqlType], item: Sequence[SqlType], dialect: Dialect) -> tuple[str, SqlType]:
    """The SQL of two keys g and i, each in its one form, as that of all of their columns; and its type."""
    texts = [_text(name, of[0], dialect) if len(of) == 1 else name for name, of in (("g", group), ("i", item))]
    return _joined(texts, dialect), combined_type([*group, *item], dialect)


def combined_type(types: Sequence[SqlType], dialect: Dialect) -> SqlType:
    """The type of several columns together."""
    labels = [_sorted(one, dialect).label for one in types]
    return SqlType("several columns", "other", "{}", "", None, label=_reader(labels))


def _reader(labels: Sequence[Callable[[str], object]]) -> Callable[[object], object]:
    def read(text: str) -> object:
        texts = text.split(BORDER)
        return tuple(label(_WRITTEN.sub(_plain, one)) for label, one in zip(labels, texts, strict=True))

    return parse_or_keep(read)


def _text(form: str, one: SqlType, dialect: Dialect) -> str:
    """The text of one value, without what stands between values."""
    text = _of(_sorted(one, dialect).sql, form)
    if not one.is_text:
        return text
    for low in dialect.low_characters:
        text = f"replace({text}, {dialect.literal(low)}, {dialect.literal(LOW[low])})"
    return text


def _plain(written: re.Match[str]) -> str:
    return "\x01" if written[1] == "\x03" else "\x00"


def _sorted(one: SqlType, dialect: Dialect) -> SortedText:
    found = dialect.sorted_text(one)
    if found is None:
        hint = "cast it to text or to a whole number in a view, and name the view as the table"
        raise DataError(f"a column of type {one.name} cannot be one of several columns of a user or an item", hint)
    return found


def _of(template: str, expression: str) -> str:
    return template.replace("{}", expression)
