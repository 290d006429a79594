"""Which columns of a frame are meant, and a view of them alone under a name that nobody guesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dpselect.engines.spark.jobs import Work, fresh_name
from dpselect.engines.spark.types import spark_type
from dpselect.engines.sql.port import SqlType
from dpselect.errors import ParameterError
from dpselect.parameters import near

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Needs = Callable[[Sequence[str]], Sequence[str]]
"""The columns that a filter needs, told from the names of all."""


def columns_of(work: Work, frame: DataFrame, user: str, item: str, needs: Needs | None) -> dict[str, SqlType]:
    """The types of the columns that are asked for; the schema alone is looked at."""
    fields = work.guarded(lambda: list(frame.schema.fields))
    names = [field.name for field in fields]
    for parameter, column in (("user", user), ("item", item)):
        if column not in names:
            raise ParameterError(parameter, "be a column of the source", repr(column), near(column, names))
        _refuse_double(parameter, column, names)
    others = [] if needs is None else [name for name in needs(names) if name not in (user, item)]
    for name in others:
        _refuse_double("where", name, names)
    asked = list(dict.fromkeys([user, item, *others]))
    if len({name.lower() for name in asked}) < len(asked):
        must = "name columns that differ in more than letter case"
        raise ParameterError("item", must, repr(item), "rename one of them")
    return {name: spark_type(fields[names.index(name)]) for name in asked}


def _refuse_double(parameter: str, column: str, names: list[str]) -> None:
    if names.count(column) > 1:
        raise ParameterError(parameter, "be one column of the source", f"{column!r}, which is several")
    if "${" in column:  # Spark puts the value of a variable there, in any SQL
        raise ParameterError(parameter, "be a name without ${", repr(column), "rename the column")


def view_of(work: Work, frame: DataFrame, columns: Sequence[str]) -> str:
    """A view of these columns, found by their places: how Spark compares names is up to the session."""
    from pyspark.sql.functions import col

    def make() -> str:
        places = [frame.columns.index(name) for name in columns]
        plain = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
        name = fresh_name()
        chosen = [col(f"c{place}").alias(column) for place, column in zip(places, columns, strict=True)]
        view(plain.select(*chosen), name)
        return name

    return work.guarded(make)


def view(frame: DataFrame, name: str) -> DataFrame:
    """A frame with a name, unlike any other: Spark forgets what it keeps of a plan with any view of an equal one."""
    from pyspark.sql.functions import lit

    named = frame.where(lit(name) == lit(name))
    named.createTempView(name)
    return named
