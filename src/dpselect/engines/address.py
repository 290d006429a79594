"""Where rows are, and what their owner declares of them: which kind of source it is, known from its form alone."""

from __future__ import annotations

import os
import sys
from dataclasses import field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Self

from dpselect._ground.dataclass import dataclass
from dpselect.engines.sources.csv_form import USUAL_CSV, CsvForm
from dpselect.engines.sources.files import kind_of, prepared_path
from dpselect.engines.sources.tables import ICEBERG_PREFIX, REMOTE_PREFIXES, is_iceberg_object, is_read_by_pyarrow
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    from dpselect.engines.sources.scans.declarations import Types

_POSTGRES = ("postgresql://", "postgres://")
SPARK_PREFIX = "spark:"


class SourceKind(Enum):
    """The kinds of sources. Each has an engine or a reader of its own."""

    POSTGRES = auto()
    SPARK = auto()
    IBIS = auto()
    ICEBERG = auto()  # a table of a catalog, by its name or as an object of pyiceberg
    REMOTE = auto()  # a file at an address
    OTHER_PACKAGE = auto()  # an address that nothing here reads: another package may
    PATHS = auto()  # files, folders or patterns on this machine
    OBJECT = auto()  # a frame, a connection, or nothing that can be read


@dataclass(frozen=True, eq=False)
class Address:
    """A source of rows. Nothing is opened, and no package is imported, to make one."""

    kind: SourceKind
    source: Any  # without the wrapping of narwhals
    table: str | None = None  # of a source that has several
    csv: CsvForm = USUAL_CSV
    types: Types = field(default_factory=dict)
    package: str | None = None  # the only other package that may read it; any if None is named
    untested: bool = False  # may Ibis read it from a backend on which no test of ours runs?

    @classmethod
    def parse(
        cls,
        source: object,
        table: str | None = None,
        *,
        csv: CsvForm = USUAL_CSV,
        types: Types | None = None,
        untested: bool = False,
    ) -> Self:
        """Return the address of what a caller gives as a source."""
        match source:
            case str() if source.startswith(_POSTGRES):
                kind = SourceKind.POSTGRES
            case str() if source.startswith(SPARK_PREFIX):
                kind = SourceKind.SPARK
            case str() if source.startswith(ICEBERG_PREFIX):
                kind = SourceKind.ICEBERG
            case str() if source.startswith(REMOTE_PREFIXES):
                kind = SourceKind.REMOTE
            case str() if "://" in source:
                kind = SourceKind.OTHER_PACKAGE
            case str() | os.PathLike():
                kind = SourceKind.PATHS
            case list() | tuple() if all(isinstance(path, (str, os.PathLike)) for path in source):
                kind = SourceKind.PATHS
            case _:
                source = _unwrapped(source)
                kind = (
                    SourceKind.IBIS
                    if _is_ibis(source)
                    else SourceKind.SPARK
                    if _is_of_spark(source)
                    else SourceKind.ICEBERG
                    if is_iceberg_object(source)
                    else SourceKind.OBJECT
                )
        return cls(kind, source, table, csv, types or {}, untested=untested)

    @property
    def is_elsewhere(self) -> bool:
        """True if the rows are in a database of their own, which counts them."""
        return self.kind in (SourceKind.POSTGRES, SourceKind.SPARK, SourceKind.IBIS)

    @property
    def prepared(self) -> str | None:
        """The path of the file, where it is one of prepared data."""
        return prepared_path(self.source) if self.kind is SourceKind.PATHS else None

    @property
    def is_read_by_pyarrow(self) -> bool:
        """True if the source is Parquet at an address, an Iceberg table, or SQLite."""
        return self.kind is SourceKind.ICEBERG or is_read_by_pyarrow(self.source)

    @property
    def file_kind(self) -> str | None:
        """The kind of the file, or of the first, by its name; None for an unknown one."""
        source = self.source
        try:
            return kind_of(source if isinstance(source, str) else source[0])
        except ParameterError:
            return None

    def at_home(self) -> Address:
        """Return where the engine of an Ibis table has its rows; of all else the address itself."""
        if self.kind is not SourceKind.IBIS:
            return self
        from dpselect.engines.sources.wrapped import home_of

        source, table = home_of(self.source, self.table)
        return Address.parse(source, table, csv=self.csv, types=self.types, untested=self.untested)

    def with_package(self, package: str) -> Address:
        """Return the same address, which no other package than this may read."""
        return replace(self, package=package)

    def with_types(self, types: Types) -> Address:
        """Return the same address, of whose columns its owner declares these types."""
        return replace(self, types=types)


def _unwrapped(source: object) -> object:
    """Return what is behind a narwhals frame, eager or lazy; anything else as it is."""
    narwhals = sys.modules.get("narwhals")
    wrapped = narwhals is not None and isinstance(source, (narwhals.DataFrame, narwhals.LazyFrame))
    return source.to_native() if wrapped else source  # type: ignore[attr-defined]


def _is_ibis(source: object) -> bool:
    """Return whether a source is a table or a connection of Ibis. A package that nobody has imported has made none."""
    types, backends = (sys.modules.get(f"ibis.{name}") for name in ("expr.types", "backends"))
    is_table = types is not None and isinstance(source, types.Table)
    return is_table or (backends is not None and isinstance(source, backends.BaseBackend))


def _is_of_spark(source: object) -> bool:
    """Return whether a source is a frame or a session of Spark. PySpark is not imported for that."""
    kinds = {"DataFrame", "SparkSession"}
    return any(
        base_class.__module__.startswith(("pyspark.sql.", "pyspark.pandas.")) and base_class.__name__ in kinds
        for base_class in type(source).__mro__
    )
