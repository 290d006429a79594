"""Keys in SQL: one column, or several together, as one expression with one form for each value.

No columns are one value, which every row has. A key is there where each of its columns is.

Several columns are a struct where a database has these: two are equal where all of their fields are, and ordered by the
first field in which they differ; nothing is written between the fields, so no value can be taken for a border.

Elsewhere they are one text: each of them as a text that tells which
value it is, U+0001 twice between two of them. Inside a text U+0001 is followed by another character, so no value holds
what stands between values, and a text is read back in one way only. Since U+0001 is also below all other characters,
such texts sort by the first column in which they differ, each as its own texts do. So all questions
stay as they are for one column of text.

A text that sorts as a number does is its sign, how many digits stand before its point, and its digits; of a negative
one everything but the sign is turned round, digit by digit, and ends with a character above all digits. So texts
compare as the numbers do, digit by digit, however long they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from dpselect.engines.sql.port import CompiledKey, Dialect, SortedText, SqlType, label_or_unparsed
from dpselect.engines.sql.questions import fill_template
from dpselect.errors import DataError

STRUCT_TYPE = "STRUCT"
COLUMN_SEPARATOR = "\x01\x01"
# What replaces characters that are not above the separator.
ESCAPED_CHARACTERS = {"\x01": "\x01\x03", "\x00": "\x01\x02"}
_ESCAPED = re.compile("\x01([\x02\x03])")
TypedColumn = tuple[str, SqlType]
"""The SQL of a column, and its type."""


def compile_key(columns: Sequence[TypedColumn], dialect: Dialect) -> CompiledKey:
    """Return the key of one column, or of several."""
    if not columns:
        no_columns = SqlType("no columns", "other", "{}", "", None, to_label=lambda _: ())
        return CompiledKey("0", "TRUE", "TRUE", no_columns, ())
    types = tuple(sql_type for _, sql_type in columns)
    forms, present, nameable = [], [], []
    for sql, sql_type in columns:
        forms.append(fill_template(sql_type.canonical_form, sql))
        present.append(fill_template(sql_type.present_condition, sql))
        nameable.append(fill_template(sql_type.nameable_condition or sql_type.present_condition, sql))
    is_one = len(columns) == 1
    canonical_form = forms[0] if is_one else concatenate_values(forms, types, dialect)
    key_type = types[0] if is_one else combined_type(types, dialect)
    return CompiledKey(canonical_form, " AND ".join(present), " AND ".join(nameable), key_type, types)


def concatenate_values(canonical_forms: Sequence[str], types: Sequence[SqlType], dialect: Dialect) -> str:
    """Compile several values in their canonical form to one value."""
    if dialect.struct is not None:
        fields = [f"k{index} := {form}" for index, form in enumerate(canonical_forms)]
        return fill_template(dialect.struct, ", ".join(fields))
    texts = [_compile_text(form, sql_type, dialect) for form, sql_type in zip(canonical_forms, types, strict=True)]
    return _join_texts(texts, dialect)


def _join_texts(texts: Sequence[str], dialect: Dialect) -> str:
    separator = dialect.literal(COLUMN_SEPARATOR)
    return dialect.binary.replace("{}", f"concat({f', {separator}, '.join(texts)})")


def compile_pair(group: Sequence[SqlType], item: Sequence[SqlType], dialect: Dialect) -> tuple[str, SqlType]:
    """Compile two keys g and i, in their canonical forms, to the key of all their columns; return its SQL and type."""
    if dialect.struct is not None:
        fields = [*_fields_of("g", group), *_fields_of("i", item)]
        return concatenate_values(fields, [*group, *item], dialect), combined_type([*group, *item], dialect)
    texts = [
        _compile_text(column, types[0], dialect) if len(types) == 1 else column
        for column, types in (("g", group), ("i", item))
    ]
    return _join_texts(texts, dialect), combined_type([*group, *item], dialect)


def combined_type(types: Sequence[SqlType], dialect: Dialect) -> SqlType:
    """Return the type of several columns together."""
    if dialect.struct is not None:
        return SqlType(
            STRUCT_TYPE,
            "other",
            "{}",
            STRUCT_TYPE,
            None,
            to_label=_make_struct_reader([sql_type.to_label for sql_type in types]),
        )
    labels = [_sorted_text(sql_type, dialect).to_label for sql_type in types]
    return SqlType("several columns", "other", "{}", "", None, to_label=_make_text_reader(labels))


def _fields_of(key_sql: str, types: Sequence[SqlType]) -> list[str]:
    """Return the SQL of each column, given the SQL of a value that has all of them."""
    return [key_sql] if len(types) == 1 else [f"{key_sql}.k{index}" for index in range(len(types))]


def _make_struct_reader(to_labels: Sequence[Callable[[Any], object]]) -> Callable[[Any], object]:
    return lambda struct: tuple(label(field) for label, field in zip(to_labels, struct.values(), strict=True))


def _make_text_reader(to_labels: Sequence[Callable[[str], object]]) -> Callable[[object], object]:
    def read(text: str) -> object:
        texts = text.split(COLUMN_SEPARATOR)
        return tuple(label(_ESCAPED.sub(_unescape, part)) for label, part in zip(to_labels, texts, strict=True))

    return label_or_unparsed(read)


def _compile_text(canonical_form: str, sql_type: SqlType, dialect: Dialect) -> str:
    """Compile one value to a text without what separates values."""
    text = fill_template(_sorted_text(sql_type, dialect).text_sql, canonical_form)
    if not sql_type.is_text:
        return text
    for character in dialect.low_characters:
        text = f"replace({text}, {dialect.literal(character)}, {dialect.literal(ESCAPED_CHARACTERS[character])})"
    return text


def _unescape(match: re.Match[str]) -> str:
    return "\x01" if match[1] == "\x03" else "\x00"


def _sorted_text(sql_type: SqlType, dialect: Dialect) -> SortedText:
    sorted_text = dialect.sorted_text(sql_type)
    if sorted_text is None:
        hint = "cast it to text or to a whole number in a view, and name the view as the table"
        raise DataError(f"a column of type {sql_type.name} cannot be one of several columns of a user or an item", hint)
    return sorted_text


DIGITS, COMPLEMENTS = "0123456789", "9876543210"
_COMPLEMENT = str.maketrans(COMPLEMENTS, DIGITS)
_NEGATIVE_END = "~"


def number_text(plain: str, integer_part: str, width: int, *, text: str) -> str:
    """Compile the text of a number, from its own in decimal notation and the part of that before the point.

    No part has more than 10^width - 1 characters; `text` is the SQL of a number of those as a text.
    """

    def size(part: str) -> str:
        return f"lpad({text.replace('{}', f'length({part})')}, {width}, '0')"

    negated = f"translate(concat({size(integer_part)}, substr({plain}, 2)), '{DIGITS}', '{COMPLEMENTS}')"
    nonnegative, negative = f"concat('1', {size(integer_part)}, {plain})", f"concat('0', {negated}, '{_NEGATIVE_END}')"
    return f"CASE WHEN substr({plain}, 1, 1) = '-' THEN {negative} ELSE {nonnegative} END"


def decimal_notation(text: str, width: int) -> str:
    """Return the decimal notation that a text was written from."""
    if text.startswith("1"):
        return text[1 + width :]
    return f"-{text[1 + width : -len(_NEGATIVE_END)].translate(_COMPLEMENT)}"


def integer_texts(width: int, *, text: str) -> SortedText:
    """Return the form of integers of up to 10^width - 1 digits."""
    plain = text
    return SortedText(
        number_text(plain, plain, width, text=text), lambda stored_text: int(decimal_notation(stored_text, width))
    )


def parse_decimals(width: int) -> Callable[[str], Decimal]:
    """Return a function from a text to a decimal number."""
    return lambda stored_text: Decimal(decimal_notation(stored_text, width))
